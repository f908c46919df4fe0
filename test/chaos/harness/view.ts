/** Reads the source and outputs of one pipeline as a read_committed consumer, and passes them to the ledger. */

import { lastHeader } from '../../../src/core/record.ts';
import type { StackTopics } from '../../support/stack/stack.ts';
import type {
  ReadRecord,
  TopicReader,
  TopicReaderOptions,
  UnreadableRecord,
} from '../../support/stack/topic-reader.ts';
import type { Produced } from '../judge/judge-records.ts';
import type { Ledger } from './observe/ledger.ts';
import { traceOf } from './observe/trace-of.ts';
import type { Producer } from './producer.ts';

type Watched = 'source' | 'outputs' | 'deadLetters';
type Reader = Pick<TopicReader, 'forEachToEnd' | 'isStable'>;

export class View {
  /** Records of the output topic. */
  readonly outputs: ReadRecord[] = [];
  readonly deadLetters: ReadRecord[] = [];
  /** All committed source records. */
  readonly produced: Produced[] = [];
  /** Traces of everything in `produced`. */
  readonly seen = new Set<string>();
  /** Coordinates of unreadable source records. */
  readonly unreadable = new Set<string>();
  /** Unexpected records of the source topic. */
  readonly oddities: string[] = [];
  readonly #readers: Record<Watched, Reader>;
  /** Records that were read but not judged yet. */
  readonly #pending: Record<Watched, ReadRecord[]> = { source: [], outputs: [], deadLetters: [] };
  readonly #ledger: Ledger;
  readonly #producer: Pick<Producer, 'journal'>;
  /** `performance.now()` when the last terminal record was read. */
  lastTerminalMs = 0;
  /** Partition → `performance.now()` of its last terminal record, or when a record became due. */
  readonly #movedMs = new Map<number, number>();

  constructor(
    kafka: { reader(topic: string, options?: TopicReaderOptions): Reader },
    topics: Pick<StackTopics, 'source' | 'decisions' | 'deadLetters'>,
    ledger: Ledger,
    producer: Pick<Producer, 'journal'>,
  ) {
    this.#readers = {
      source: kafka.reader(topics.source, { onUnreadable: (at) => this.#takeUnreadable(at) }),
      outputs: kafka.reader(topics.decisions),
      deadLetters: kafka.reader(topics.deadLetters),
    };
    this.#ledger = ledger;
    this.#producer = producer;
  }

  /** Returns the time in `#movedMs` of each partition with outstanding records. */
  owingSinceMs(): number[] {
    return [...this.#ledger.dueByPartition()].flatMap(([partition, due]) =>
      due > 0 ? [this.#movedMs.get(partition) ?? 0] : [],
    );
  }

  get oldestDueMs(): number | undefined {
    return this.#ledger.oldestDueMs;
  }

  /** True if no transaction is undecided in source and outputs. */
  async isStable(): Promise<boolean> {
    for (const reader of Object.values(this.#readers)) if (!(await reader.isStable())) return false;
    return true;
  }

  /** Reads everything that is committed now. */
  async read(): Promise<void> {
    // Reads the source last, so that it includes the source record of every output that was read. If a read fails, the
    // next call handles the records read so far, since the readers have moved past them.
    const { outputs, deadLetters, source } = this.#pending;
    await this.#readers.outputs.forEachToEnd((record) => outputs.push(record));
    await this.#readers.deadLetters.forEachToEnd((record) => deadLetters.push(record));
    await this.#readers.source.forEachToEnd((record) => source.push(record));
    for (const record of source.splice(0)) this.#take(record);
    for (const record of outputs.splice(0)) {
      this.outputs.push(record);
      const { source: at, id } = JSON.parse(String(record.value)) as {
        id: string;
        source: { partition: number; offset: number };
      };
      this.#terminal(at.partition, at.offset, id);
    }
    for (const record of deadLetters.splice(0)) {
      this.deadLetters.push(record);
      const header = (name: string) => String(lastHeader(record.headers, name));
      this.#terminal(
        Number(header('dead-letter-partition')),
        Number(header('dead-letter-offset')),
        header('event-id'),
      );
    }
  }

  /** Expects a dead letter with the reason too_large, because only bombs are unreadable to this reader. */
  #takeUnreadable({ partition, offset, timestampMs }: UnreadableRecord): void {
    this.unreadable.add(`${partition}:${offset}`);
    const bare = {
      key: null,
      value: null,
      headers: [],
      metadata: undefined,
      fate: { deadLetter: 'too_large' },
    };
    this.#owe({ partition, offset, timestampMs, ...bare });
  }

  #take(record: ReadRecord): void {
    const trace = traceOf(record);
    const entry = this.#producer.journal.get(trace);
    const { partition, offset } = record;
    if (entry === undefined || entry.event.partition !== partition) {
      this.oddities.push(
        `${partition}:${offset} of the source contains ${trace}, which was not written there`,
      );
      return;
    }
    if (entry.fate === 'aborted')
      this.oddities.push(
        `${partition}:${offset} of the source contains ${trace}, which was aborted`,
      );
    this.#owe({ ...entry.event, offset });
    this.seen.add(trace);
  }

  #owe(event: Produced): void {
    const { partition, offset } = event;
    this.produced.push(event);
    if ((this.#ledger.dueByPartition().get(partition) ?? 0) === 0)
      this.#movedMs.set(partition, performance.now());
    this.#ledger.produced(partition, offset);
  }

  #terminal(partition: number, offset: number, eventId: string): void {
    this.#ledger.terminal(partition, offset, Number(/#(\d+)$/.exec(eventId)?.[1] ?? 0));
    this.lastTerminalMs = performance.now();
    this.#movedMs.set(partition, this.lastTerminalMs);
  }
}
