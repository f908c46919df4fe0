/** Publishes the originals of dead letters again, each of them only once. */
import {
  BATCH_HEADER_BYTES,
  EncodedRecords,
  sizeInBatch,
} from '../../core/bytes/encoded-records.ts';
import { detached } from '../../core/detached.ts';
import { isReasonHeader, REPLAYS_HEADER, replaysOf } from '../../core/outcome/dead-letter.ts';
import { type Transaction, TransactionError } from '../../core/ports/kafka.ts';
import type { OutgoingRecord, SourceRecord } from '../../core/record.ts';
import { InspectError, type Inspection } from './context.ts';
import {
  type DeadLetterEntry,
  type DeadLetterFilter,
  matcherOf,
  scanDeadLetters,
} from './dead-letters.ts';
import { type ChosenLetter, ReplayPositions } from './replay-positions.ts';

/** Maximum number of originals in a transaction, and maximum bytes of their values. */
const MAX_ROWS = 500;
const MAX_BYTES = 4 * 1024 * 1024;

export type ReplayStatus =
  /** The original was published again or, in a dry run, would be published. */
  | 'replayed'
  | 'replayed_before'
  /** The dead letter has no value: the original was null, too large, or no longer in the source. */
  | 'no_value'
  /** The original is larger than the target topic's max.message.bytes. */
  | 'too_large_for_target';

export interface ReplayReport {
  readonly dryRun: boolean;
  readonly to: string;
  readonly counts: Readonly<Record<ReplayStatus, number>>;
}

/** Transactional producer for a pipeline's replays. */
export interface ReplayProducer {
  /** Fences all earlier replays, and aborts their open transaction. */
  fence(): Promise<void>;
  /** Publishes records and commits offsets on the dead-letter topic. @throws TransactionError */
  commit(transaction: Omit<Transaction, 'journal'>): Promise<unknown>;
  close(): Promise<void>;
}

export interface ReplayRequest {
  readonly filter: DeadLetterFilter;
  /** Target topic: the pipeline's source, or a topic that the pipeline does not use. */
  readonly to: string;
  /** Opens a producer that commits offsets of the given group. undefined for a dry run. */
  readonly open: ((group: string) => ReplayProducer) | undefined;
  /** Called after each transaction with the number of records that were (or would be) published. */
  readonly onProgress?: (replayed: number) => void;
}

/**
 * Publishes originals, and commits the new positions in the same transactions. A second replay at
 * the same time fences the first. After an interruption, the same command continues the replay.
 * @throws InspectError
 */
export async function replayDeadLetters(
  inspection: Inspection,
  request: ReplayRequest,
): Promise<ReplayReport> {
  const replay = new Replay(inspection, request, await largestRecord(inspection, request.to));
  try {
    return await replay.run();
  } finally {
    await replay.close();
  }
}

interface Replayable extends ChosenLetter {
  readonly original: OutgoingRecord;
}

class Replay {
  readonly #inspection: Inspection;
  readonly #request: ReplayRequest;
  readonly #positions: ReplayPositions;
  readonly #matches: (entry: DeadLetterEntry) => boolean;
  readonly #maxBytes: number;
  readonly #counts: Record<ReplayStatus, number> = {
    replayed: 0,
    replayed_before: 0,
    no_value: 0,
    too_large_for_target: 0,
  };
  #producer: ReplayProducer | undefined;
  #chunk: Replayable[] = [];
  #bytes = 0;
  #writing: Promise<undefined> = Promise.resolve(undefined);

  /** @param maxBytes maximum size of a record batch in the target topic */
  constructor(inspection: Inspection, request: ReplayRequest, maxBytes: number) {
    this.#inspection = inspection;
    this.#request = request;
    this.#positions = new ReplayPositions(inspection);
    this.#matches = matcherOf(request.filter);
    this.#maxBytes = maxBytes;
  }

  async run(): Promise<ReplayReport> {
    const { to, open } = this.#request;
    try {
      if (open === undefined) await this.#positions.read();
      else await this.#fence(open);
      await this.#begin();
      // Reads all letters, because later replays need the letters that this selection leaves out.
      await scanDeadLetters(this.#inspection, undefined, (entry, { record }) =>
        this.#take(entry, record),
      );
      await this.#flush();
    } finally {
      // Ends the current transaction, because an open one would block all readers of its topics.
      await this.#writing.catch(() => undefined);
    }
    return { dryRun: open === undefined, to, counts: this.#counts };
  }

  async close(): Promise<void> {
    await this.#producer?.close();
  }

  /** Fences earlier replays, which aborts their open transactions. The positions are final only after that. */
  async #fence(open: NonNullable<ReplayRequest['open']>): Promise<void> {
    this.#producer = open(this.#positions.group);
    await this.#producer.fence().catch((error: unknown) => {
      throw error instanceof TransactionError ? replayFailure(error) : error;
    });
    await this.#positions.readBehindFence();
  }

  /** Determines where the replay begins if no offsets are committed. @throws InspectError */
  async #begin(): Promise<void> {
    if (!this.#positions.isEmpty) return;
    const { filter, open } = this.#request;
    if (filter.sinceMs !== undefined) return await this.#positions.beginAt(filter.sinceMs);
    const problem = `group ${this.#positions.group} has no offsets: this is the first replay, or the last one is older than Kafka's retention of offsets (offsets.retention.minutes, a week by default). Set --since to the time of the first dead letter that has not been replayed: older ones count as replayed`;
    if (open !== undefined) throw new InspectError('usage', problem);
    this.#inspection.notice(problem);
  }

  #take(entry: DeadLetterEntry, record: SourceRecord): undefined | Promise<undefined> {
    const isOpen = entry.valueBytes !== null && !this.#positions.isReplayed(entry);
    if (!this.#matches(entry)) {
      if (isOpen) this.#positions.leave(entry);
      return undefined;
    }
    if (!isOpen)
      return this.#skip(entry, entry.valueBytes === null ? 'no_value' : 'replayed_before', isOpen);
    const original = originalOf(record);
    const bytes = BATCH_HEADER_BYTES + sizeInBatch(EncodedRecords.of([original]).size(0), 0);
    if (bytes > this.#maxBytes) return this.#skip(entry, 'too_large_for_target', isOpen);
    this.#chunk.push({ ...this.#positions.choose(entry), original });
    this.#bytes += entry.valueBytes ?? 0;
    return this.#chunk.length >= MAX_ROWS || this.#bytes >= MAX_BYTES ? this.#flush() : undefined;
  }

  #skip(entry: DeadLetterEntry, status: ReplayStatus, isOpen: boolean): undefined {
    this.#counts[status]++;
    if (isOpen) this.#positions.leave(entry);
  }

  /** Writes the chunk after the previous one, because a producer's transactions must not overlap. */
  #flush(): Promise<undefined> {
    const full = this.#chunk;
    this.#chunk = [];
    this.#bytes = 0;
    this.#writing = this.#writing.then(async () => {
      if (full.length > 0) await this.#write(full);
      return undefined;
    });
    return this.#writing;
  }

  /** Writes a chunk in one transaction. */
  async #write(chunk: readonly Replayable[]): Promise<void> {
    if (this.#producer !== undefined) {
      const records = EncodedRecords.of(chunk.map(({ original }) => original));
      const offsets = this.#positions.add(chunk);
      try {
        await this.#producer.commit({ outputs: [{ topic: this.#request.to, records }], offsets });
      } catch (error) {
        throw error instanceof TransactionError ? replayFailure(error) : error;
      }
    }
    this.#counts.replayed += chunk.length;
    this.#request.onProgress?.(this.#counts.replayed);
  }
}

function replayFailure(cause: TransactionError): InspectError {
  const again = 'Run the command again: it continues from here, and replays nothing twice.';
  const { failure, message } = cause;
  if (failure === 'fenced')
    return new InspectError(
      'refused',
      `another replay of the same dead letters has started, so this one ends. ${again}`,
      { cause },
    );
  if (failure === 'rejected' || failure === 'too_large')
    return new InspectError('refused', `Kafka refused the replayed records: ${message}`, { cause });
  return new InspectError('unreachable', `${message}. ${again}`, { cause });
}

/**
 * Returns a source record's key, value and headers, with its number of replays. They are copied,
 * because each would otherwise keep the whole fetched piece in memory.
 */
export function originalOf(deadLetter: SourceRecord): OutgoingRecord {
  const { key, value, headers } = detached(deadLetter);
  const own = headers.filter((header) => !isReasonHeader(header) && header[0] !== REPLAYS_HEADER);
  const replays = Math.min(replaysOf(deadLetter) + 1, 999_999);
  return { key, value, headers: [...own, [REPLAYS_HEADER, String(replays)]] };
}

/** Checks the target topic. @returns the maximum size of its record batches in bytes */
async function largestRecord({ admin, pipeline }: Inspection, to: string): Promise<number> {
  const { source, decisions, deadLetters, journal } = pipeline.topics;
  const written = [decisions, deadLetters, journal, ...pipeline.reservedTopics];
  if (to !== source && written.includes(to))
    throw new InspectError(
      'usage',
      `the connector itself writes to ${to}: replay to the source, or to a retry topic`,
    );
  if (to.startsWith('__')) throw new InspectError('usage', `${to} is an internal topic of Kafka`);
  const found = await admin.describeTopic(to);
  if (found === undefined)
    throw new InspectError('refused', `topic ${to} does not exist: create it, or correct its name`);
  return Number(found.settings.get('max.message.bytes') ?? Infinity);
}
