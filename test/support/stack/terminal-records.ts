/** Terminal records of a stack as a read_committed consumer sees them, by source record. */
import assert from 'node:assert/strict';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { deadLetterProblem, outputProblem } from '../contracts.ts';
import { eventually } from '../eventually.ts';
import type { TestKafka } from '../kafka/kafka.ts';
import { headerOf } from '../records/headers.ts';
import type { Stack } from './stack.ts';
import type { ReadRecord, TopicReader } from './topic-reader.ts';

export interface Terminal {
  /** `<partition>:<offset>` of the source record. */
  readonly of: string;
  /** Reason of a dead letter. */
  readonly reason: string | undefined;
  /** The parsed decision; undefined for a dead letter. */
  readonly decision: Decision | undefined;
  readonly eventId: string;
  readonly record: ReadRecord;
}

export interface Decision {
  readonly id: string;
  readonly status: string;
  readonly result: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly content?: string;
  readonly error: { readonly code: string } | null;
  readonly batch: { readonly id: string; readonly type: string; readonly attempt: number };
  readonly source: SourceCoordinate;
}

export class TerminalRecords {
  readonly all: Terminal[] = [];
  /** Violations of the contracts. */
  readonly #unfit: string[] = [];
  readonly #decisions: TopicReader;
  readonly #deadLetters: TopicReader;
  readonly #stack: Pick<Stack, 'topics' | 'replicas'>;

  constructor(kafka: TestKafka, stack: Pick<Stack, 'topics' | 'replicas'>) {
    this.#decisions = kafka.reader(stack.topics.decisions);
    this.#deadLetters = kafka.reader(stack.topics.deadLetters);
    this.#stack = stack;
  }

  /** Reads new records. @throws AssertionError if a record violates its contract */
  async refresh(): Promise<void> {
    await this.#read();
    assert.deepEqual(this.#unfit, []);
  }

  async #read(): Promise<void> {
    for (const record of await this.#decisions.readToEnd()) {
      const decision = JSON.parse(String(record.value)) as Decision;
      this.#hold(record, outputProblem(decision, record.headers));
      const { partition, offset } = decision.source;
      this.#add({ of: `${partition}:${offset}`, reason: undefined, decision, record });
    }
    for (const record of await this.#deadLetters.readToEnd()) {
      const header = (name: string) => headerOf(record, `dead-letter-${name}`);
      this.#hold(record, deadLetterProblem(record.headers));
      const of = `${header('partition')}:${header('offset')}`;
      this.#add({ of, reason: header('reason'), decision: undefined, record });
    }
  }

  of({ partition, offset }: SourceCoordinate): Terminal[] {
    return this.all.filter(({ of }) => of === `${partition}:${offset}`);
  }

  /** Returns the only terminal record of a source record. */
  one(at: SourceCoordinate): Terminal {
    const [first, ...more] = this.of(at);
    assert.ok(first !== undefined, `${at.partition}:${at.offset} has no terminal record`);
    assert.deepEqual(more, [], `${at.partition}:${at.offset} has more than one terminal record`);
    return first;
  }

  /** Waits for a total of `count` records. */
  async untilCount(count: number, deadlineMs = 30_000): Promise<void> {
    const enough = async () => {
      await this.#read();
      return this.all.length >= count || this.#unfit.length > 0;
    };
    await eventually(`there are ${count} terminal records`, enough, { deadlineMs }).catch(
      (error: Error) => {
        const logs = this.#stack.replicas.map(
          ({ name, lines }) => `${name}:\n${lines.slice(-15).join('\n')}`,
        );
        throw new Error(`${error.message}: there are ${this.all.length}\n${logs.join('\n')}`);
      },
    );
    assert.deepEqual(this.#unfit, []);
  }

  /** Asserts that each source record has exactly one terminal record and that there are no others. */
  assertOnceEach(source: readonly SourceCoordinate[]): void {
    const times = new Map<string, number>();
    for (const { of } of this.all) times.set(of, (times.get(of) ?? 0) + 1);
    const wanted = new Set(source.map(({ partition, offset }) => `${partition}:${offset}`));
    const missing = [...wanted].filter((of) => !times.has(of));
    const twice = [...times].filter(([, count]) => count > 1).map(([of]) => of);
    const unknown = [...times.keys()].filter((of) => !wanted.has(of));
    assert.deepEqual({ missing, twice, unknown }, { missing: [], twice: [], unknown: [] });
  }

  /** Notes a violation of the contract. Every record that a test reads is checked. */
  #hold({ topic, partition, offset }: ReadRecord, problem: string | undefined): void {
    if (problem !== undefined)
      this.#unfit.push(`the record ${partition}:${offset} of ${topic} ${problem}`);
  }

  #add(found: Omit<Terminal, 'eventId'>): void {
    this.all.push({ ...found, eventId: headerOf(found.record, 'event-id') });
  }
}
