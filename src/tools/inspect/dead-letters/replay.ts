/** Publishes the originals of dead letters again, each once. */

import { detached } from '../../../core/batch/detached.ts';
import { EncodedRecords } from '../../../core/bytes/encoded-records.ts';
import { isReasonHeader, REPLAYS_HEADER, replaysOf } from '../../../core/outcome/dead-letter.ts';
import {
  type ShardProducer,
  type Transaction,
  TransactionError,
} from '../../../core/ports/kafka.ts';
import {
  type OutgoingRecord,
  placeOf,
  type SourceCoordinate,
  type SourceRecord,
} from '../../../core/record.ts';
import { InspectError, type Inspection } from '../context.ts';
import { type DeadLetterEntry, type DeadLetterFilter, scanDeadLetters } from './dead-letters.ts';
import { memoryTopicOf, ownerWrite, ReplayMemory, replayedWrite } from './replay-memory.ts';
import { type ReplayOutcomes, ReplayWatch } from './replay-watch.ts';

/** Originals of one transaction, and bytes of their values. */
const MAX_ROWS = 500;
const MAX_BYTES = 4 * 1024 * 1024;
const REPORT_EVERY_MS = 5_000;

export type ReplayStatus =
  /** Published again, or with a dry run: would be. */
  | 'replayed'
  | 'replayed_before'
  /** Its source record was a replay already. */
  | 'failed_again'
  /** The dead letter has no value: it was gone from the source, too large, or null. */
  | 'no_value'
  /** The target refuses a record of this size, even alone. */
  | 'too_large_for_target';

export interface ReplayReport {
  readonly dryRun: boolean;
  readonly to: string;
  readonly counts: Readonly<Record<ReplayStatus, number>>;
  readonly deadLetters: readonly (DeadLetterEntry & { readonly status: ReplayStatus })[];
  /** `counts` cover more than the list. */
  readonly listCut: boolean;
  /** Chosen source records that have no dead letter. */
  readonly unmatched: readonly SourceCoordinate[];
  /** Stopped before the end; `counts` cover what was done. */
  readonly interrupted: boolean;
  /** The portion after which the replay ended, because most of it became dead letters again. */
  readonly failing: ReplayOutcomes | null;
}

export interface ReplayRequest {
  readonly filter: DeadLetterFilter;
  /** Topic: the pipeline's source, or one that it does not use. */
  readonly to: string;
  /** Largest number of listed dead letters. */
  readonly listLimit: number;
  /** Opens the producer of the memory topic; undefined: a dry run. */
  readonly open: ((memoryTopic: string) => ShardProducer) | undefined;
  readonly instance: string;
  /** Includes dead letters of replayed records. */
  readonly again?: boolean | undefined;
  /** Records per second. */
  readonly rate?: number | undefined;
  /** Watches the outcomes of what goes to the source, and ends when most of it fails again. */
  readonly watch?: boolean | undefined;
  /** Stops after the transaction under way. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Publishes originals and the memory of them in common transactions. A second replay at the same
 * time fences the first; an interrupted one is continued by running it again.
 * @throws InspectError
 */
export async function replayDeadLetters(
  inspection: Inspection,
  request: ReplayRequest,
): Promise<ReplayReport> {
  await checkTarget(inspection, request.to);
  if (request.open !== undefined) await prepareMemory(inspection);
  const replay = new Replay(inspection, request);
  try {
    return await replay.run();
  } finally {
    await replay.close();
  }
}

interface Replayable {
  readonly entry: ListedEntry;
  readonly original: OutgoingRecord;
}

/** The status is undefined until the outcome is known. */
type ListedEntry = DeadLetterEntry & { status?: ReplayStatus };

class Replay {
  readonly #inspection: Inspection;
  readonly #request: ReplayRequest;
  readonly #failing = new AbortController();
  readonly #stop: AbortSignal;
  readonly #watch: ReplayWatch | undefined;
  readonly #memory: ReplayMemory;
  readonly #counts: Record<ReplayStatus, number> = {
    replayed: 0,
    replayed_before: 0,
    failed_again: 0,
    no_value: 0,
    too_large_for_target: 0,
  };
  readonly #listed: ListedEntry[] = [];
  readonly #matched = new Set<string>();
  #producer: ShardProducer | undefined;
  #chunk: Replayable[] = [];
  #bytes = 0;
  #writing: Promise<undefined> = Promise.resolve(undefined);
  #reportedMs: number;

  constructor(inspection: Inspection, request: ReplayRequest) {
    this.#inspection = inspection;
    this.#request = request;
    const { stop, watch, open, to } = request;
    this.#stop = AbortSignal.any([this.#failing.signal, ...(stop ? [stop] : [])]);
    if (watch === true && open !== undefined && to === inspection.pipeline.topics.source)
      this.#watch = new ReplayWatch(inspection, this.#stop);
    this.#memory = new ReplayMemory(inspection);
    this.#reportedMs = inspection.clock.now();
  }

  async run(): Promise<ReplayReport> {
    const { filter, to, open, stop: interrupt } = this.#request;
    const stop = this.#stop;
    if (open === undefined) await this.#memory.readAll();
    else await this.#begin(open);
    const signal = AbortSignal.any([this.#inspection.signal, stop]);
    try {
      await scanDeadLetters({ ...this.#inspection, signal }, filter, (entry, { record }) =>
        this.#take(entry, record),
      );
      await this.#flush();
    } catch (error) {
      // Left open, the transaction under way would block all readers of its topics.
      await this.#writing.catch(() => undefined);
      if (!stop.aborted || error !== stop.reason) throw error;
      await this.#writing;
    }
    const deadLetters = this.#listed.flatMap(({ status, ...entry }) =>
      status === undefined ? [] : [{ ...entry, status }],
    );
    const all = Object.values(this.#counts).reduce((sum, count) => sum + count, 0);
    return {
      dryRun: open === undefined,
      to,
      counts: this.#counts,
      deadLetters,
      listCut: deadLetters.length < all,
      unmatched: stop.aborted
        ? []
        : filter.sources.filter((source) => !this.#matched.has(placeOf(source))),
      interrupted: interrupt?.aborted ?? false,
      failing: this.#failing.signal.aborted ? (this.#watch?.outcomes ?? null) : null,
    };
  }

  async close(): Promise<void> {
    await this.#producer?.close();
  }

  /** Fences an earlier replay and settles what it left open; only then is the memory complete up to this record. */
  async #begin(open: NonNullable<ReplayRequest['open']>): Promise<void> {
    await this.close();
    this.#producer = open(this.#memory.topic);
    const owner = ownerWrite(this.#request.instance, this.#inspection.clock.now());
    const { journalOffset } = await this.#commit(this.#producer, { journal: [owner] });
    await this.#memory.read(journalOffset + 1);
  }

  #take(entry: DeadLetterEntry, record: SourceRecord): undefined | Promise<undefined> {
    this.#matched.add(placeOf(entry));
    const listed: ListedEntry = { ...entry };
    if (this.#listed.length < this.#request.listLimit) this.#listed.push(listed);
    if (entry.valueBytes === null) {
      this.#count(listed, 'no_value');
      return undefined;
    }
    const isFirst = entry.replays === 0 || this.#memory.replayedMs(entry) !== undefined;
    if (!isFirst && this.#request.again !== true) {
      this.#count(listed, 'failed_again');
      return undefined;
    }
    this.#chunk.push({ entry: listed, original: originalOf(record) });
    this.#bytes += entry.valueBytes;
    return this.#chunk.length >= MAX_ROWS || this.#bytes >= MAX_BYTES ? this.#flush() : undefined;
  }

  #count(entry: ListedEntry, status: ReplayStatus): void {
    entry.status = status;
    this.#counts[status]++;
  }

  /** Several partitions are read at a time, but transactions of one producer must not overlap. */
  #flush(): Promise<undefined> {
    const full = this.#chunk;
    this.#chunk = [];
    this.#bytes = 0;
    this.#writing = this.#writing.then(async () => {
      await this.#publish(full);
      return undefined;
    });
    return this.#writing;
  }

  /** Writes what the rate and the outcomes so far allow, then the rest. */
  async #publish(chunk: Replayable[]): Promise<void> {
    const { clock, signal } = this.#inspection;
    const { rate, open } = this.#request;
    while (chunk.length > 0 && !this.#stop.aborted) {
      const room = (await this.#watch?.room()) ?? MAX_ROWS;
      if (room === 0 && !this.#stop.aborted) this.#failing.abort();
      const part = chunk.splice(0, Math.min(room, rate ?? MAX_ROWS));
      await this.#write(part);
      const published = part.filter(({ entry }) => entry.status === 'replayed');
      this.#watch?.published(published.map(({ original }) => original));
      this.#report();
      if (rate === undefined || open === undefined) continue;
      const waitMs = (1_000 * published.length) / rate;
      await clock.sleep(waitMs, this.#stop).catch(() => signal.throwIfAborted());
    }
  }

  /** Writes in one transaction, or in two halves when that is too large. Leaves the rest once stopped. */
  async #write(chunk: readonly Replayable[]): Promise<void> {
    if (this.#stop.aborted) return;
    const rest = chunk.filter(({ entry }) => {
      if (this.#memory.replayedMs(entry) === undefined) return true;
      this.#count(entry, 'replayed_before');
      return false;
    });
    const { open, to } = this.#request;
    const nowMs = this.#inspection.clock.now();
    const [head, ...tail] = rest.map(({ entry }) => replayedWrite(entry, to, nowMs));
    if (head === undefined) return;
    if (open !== undefined && this.#producer !== undefined) {
      const records = EncodedRecords.of(rest.map(({ original }) => original));
      try {
        await this.#commit(this.#producer, {
          journal: [head, ...tail],
          outputs: [{ topic: to, records }],
        });
      } catch (error) {
        if (!isTooLarge(error)) throw error;
        // The producer is dead. Before the next one takes over, another replay may run.
        await this.#begin(open);
        const [only] = rest;
        if (only !== undefined && rest.length === 1)
          return this.#count(only.entry, 'too_large_for_target');
        const middle = Math.floor(rest.length / 2);
        await this.#write(rest.slice(0, middle));
        return await this.#write(rest.slice(middle));
      }
    }
    for (const { entry } of rest) this.#count(entry, 'replayed');
  }

  async #commit(
    producer: ShardProducer,
    transaction: Transaction,
  ): Promise<{ readonly journalOffset: number }> {
    try {
      return await producer.commit(transaction);
    } catch (error) {
      throw error instanceof TransactionError ? replayFailure(error) : error;
    }
  }

  #report(): void {
    const { clock, notice } = this.#inspection;
    const { open, to } = this.#request;
    if (open === undefined || clock.now() - this.#reportedMs < REPORT_EVERY_MS) return;
    this.#reportedMs = clock.now();
    notice(`${this.#counts.replayed.toLocaleString('en-US')} records published to ${to} so far`);
  }
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof InspectError &&
  error.cause instanceof TransactionError &&
  error.cause.failure === 'too_large';

function replayFailure(cause: TransactionError): InspectError {
  const again = 'Run it again: it continues here, and replays nothing twice.';
  const { failure, message } = cause;
  if (failure === 'fenced')
    return new InspectError(
      'refused',
      `another replay of the same dead letters has started: this one ends. ${again}`,
      { cause },
    );
  if (failure === 'rejected' || failure === 'too_large')
    return new InspectError('refused', `Kafka refused the replayed records: ${message}`, { cause });
  return new InspectError('unreachable', `${message}. ${again}`, { cause });
}

/**
 * Key, value and headers of the source record, with the number of its replays. Copied: otherwise each
 * would retain the fetched piece it was read from.
 */
export function originalOf(deadLetter: SourceRecord): OutgoingRecord {
  const { key, value, headers } = detached(deadLetter);
  const own = headers.filter((header) => !isReasonHeader(header) && header[0] !== REPLAYS_HEADER);
  const replays = Math.min(replaysOf(deadLetter) + 1, 999_999);
  return { key, value, headers: [...own, [REPLAYS_HEADER, String(replays)]] };
}

async function checkTarget({ admin, pipeline }: Inspection, to: string): Promise<void> {
  const { source, decisions, deadLetters, journal } = pipeline.topics;
  const written = [decisions, deadLetters, journal, ...pipeline.reservedTopics];
  if (to !== source && written.some((topic) => to === topic || to === memoryTopicOf(topic)))
    throw new InspectError(
      'usage',
      `the connector itself writes to ${to}: replay to the source, or to a retry topic`,
    );
  if (to.startsWith('__')) throw new InspectError('usage', `${to} is an internal topic of Kafka`);
  if ((await admin.describeTopic(to)) === undefined)
    throw new InspectError('refused', `topic ${to} does not exist: create it, or correct its name`);
}

async function prepareMemory({ admin, pipeline }: Inspection): Promise<void> {
  const topic = memoryTopicOf(pipeline.topics.deadLetters);
  const found = await admin.describeTopic(topic);
  if (found === undefined) {
    const brokers = await admin.brokerCount();
    await admin.createTopic(topic, {
      partitions: 1,
      replicationFactor: Math.min(3, brokers),
      settings: new Map([
        ['cleanup.policy', 'compact'],
        ['min.insync.replicas', brokers === 1 ? '1' : '2'],
      ]),
    });
  } else if (found.settings.get('cleanup.policy') !== 'compact')
    throw new InspectError(
      'refused',
      `topic ${topic} must have cleanup.policy=compact: otherwise Kafka deletes the memory of replays`,
    );
}
