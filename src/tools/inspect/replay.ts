/** Puts the originals of dead letters back on a topic, each once. */

import { detached } from '../../core/batch/detached.ts';
import { isReasonHeader } from '../../core/outcome/dead-letter.ts';
import type { ShardProducer } from '../../core/ports/kafka.ts';
import {
  type OutgoingRecord,
  placeOf,
  type SourceCoordinate,
  type SourceRecord,
} from '../../core/record.ts';
import { InspectError, type Inspection } from './context.ts';
import { type Letter, type LetterFilter, scanLetters } from './dead-letters.ts';
import { memoryTopicOf, ReplayMemory } from './replay-memory.ts';
import { MAX_ROWS, type Replayable, ReplayWriter } from './replay-writer.ts';

/** Originals of one transaction, bytes of values. */
const MAX_BYTES = 4 * 1024 * 1024;
/** How often a person who waits is told. */
const TELL_EVERY_MS = 5_000;

export type ReplayStatus =
  /** Put back, or with a dry run: would be. */
  | 'replayed'
  | 'replayed_before'
  /** The letter has no value: it was gone from the source, too large for the dead letters, or there never was one. */
  | 'no_value'
  /** The target takes no record of this size, even alone. */
  | 'too_large_for_target';

export interface ReplayReport {
  readonly dryRun: boolean;
  readonly to: string;
  readonly counts: Readonly<Record<ReplayStatus, number>>;
  readonly letters: readonly (Letter & { readonly status: ReplayStatus })[];
  /** The list was cut: `counts` tell of all. */
  readonly listCut: boolean;
  /** Source records that were asked for and have no dead letter. */
  readonly unmatched: readonly SourceCoordinate[];
  /** It was told to stop before it was through; `counts` tell of what was done. */
  readonly interrupted: boolean;
}

export interface ReplayRequest {
  readonly filter: LetterFilter;
  /** Topic; the pipeline's source, or one that it does not use. */
  readonly to: string;
  /** Letters of the report's list at most. */
  readonly listLimit: number;
  /** Opens the producer of the memory topic; undefined: a dry run. */
  readonly open: ((memoryTopic: string) => ShardProducer) | undefined;
  readonly instance: string;
  /** Stops after the transaction that is under way. */
  readonly stop?: AbortSignal;
}

/**
 * One transaction holds originals and what is remembered of them. A second replay at the same time fences the first; a
 * replay that was interrupted is continued by running it again.
 * @throws InspectError
 */
export async function replayLetters(
  inspection: Inspection,
  request: ReplayRequest,
): Promise<ReplayReport> {
  const { to, open, instance, stop = new AbortController().signal } = request;
  await checkTarget(inspection, to);
  if (open === undefined) {
    const memory = await ReplayMemory.read(inspection);
    const replay = new Replay(inspection, request, memory, async (chunk, told) => {
      for (const one of chunk) told(one, 'replayed');
    });
    return await replay.run(stop);
  }
  await prepareMemory(inspection);
  const writer = await ReplayWriter.open(inspection, { to, open, instance, stop });
  try {
    return await new Replay(inspection, request, writer.memory, (chunk, told) =>
      writer.write(chunk, told),
    ).run(stop);
  } finally {
    await writer.close();
  }
}

class Replay {
  readonly #inspection: Inspection;
  readonly #request: ReplayRequest;
  readonly #memory: ReplayMemory;
  readonly #write: ReplayWriter['write'];
  readonly #counts: Record<ReplayStatus, number> = {
    replayed: 0,
    replayed_before: 0,
    no_value: 0,
    too_large_for_target: 0,
  };
  /** Those without a status are not written yet. */
  readonly #listed: (Letter & { status?: ReplayStatus })[] = [];
  readonly #matched = new Set<string>();
  #chunk: Replayable[] = [];
  #bytes = 0;
  #writing: Promise<undefined> = Promise.resolve(undefined);
  #toldMs: number;

  constructor(
    inspection: Inspection,
    request: ReplayRequest,
    memory: ReplayMemory,
    write: ReplayWriter['write'],
  ) {
    this.#inspection = inspection;
    this.#request = request;
    this.#memory = memory;
    this.#write = write;
    this.#toldMs = inspection.clock.now();
  }

  async run(stop: AbortSignal): Promise<ReplayReport> {
    const { filter, to, open } = this.#request;
    const inspection = {
      ...this.#inspection,
      signal: AbortSignal.any([this.#inspection.signal, stop]),
    };
    try {
      await scanLetters(inspection, filter, (letter, { record }) => this.#take(letter, record));
      await this.#flush();
    } catch (error) {
      // The transaction that is under way is finished: left open it would hold up all readers of its topics.
      await this.#writing.catch(() => undefined);
      if (!stop.aborted || error !== stop.reason) throw error;
      await this.#writing;
    }
    const letters = this.#listed.flatMap(({ status, ...letter }) =>
      status === undefined ? [] : [{ ...letter, status }],
    );
    return {
      dryRun: open === undefined,
      to,
      counts: this.#counts,
      letters,
      listCut: letters.length < Object.values(this.#counts).reduce((sum, count) => sum + count, 0),
      unmatched: stop.aborted ? [] : filter.at.filter((at) => !this.#matched.has(placeOf(at))),
      interrupted: stop.aborted,
    };
  }

  #take(letter: Letter, record: SourceRecord): undefined | Promise<undefined> {
    this.#matched.add(placeOf(letter));
    const before = this.#memory.replayedMs(letter) !== undefined;
    const status = before ? 'replayed_before' : letter.valueBytes === null ? 'no_value' : undefined;
    const listed = this.#listed.length < this.#request.listLimit ? { ...letter } : letter;
    if (listed !== letter) this.#listed.push(listed);
    if (status !== undefined) {
      this.#settle(listed, status);
      return undefined;
    }
    this.#chunk.push({ letter: listed, original: originalOf(record) });
    this.#bytes += letter.valueBytes ?? 0;
    return this.#chunk.length >= MAX_ROWS || this.#bytes >= MAX_BYTES ? this.#flush() : undefined;
  }

  #settle(letter: Letter & { status?: ReplayStatus }, status: ReplayStatus): void {
    letter.status = status;
    this.#counts[status]++;
  }

  /** Transactions of one producer must not overlap: several partitions are read at a time. */
  #flush(): Promise<undefined> {
    const full = this.#chunk;
    this.#chunk = [];
    this.#bytes = 0;
    this.#writing = this.#writing.then(async () => {
      await this.#write(full, ({ letter }, outcome) => this.#settle(letter, outcome));
      this.#tell();
      return undefined;
    });
    return this.#writing;
  }

  #tell(): void {
    const { clock, notice } = this.#inspection;
    if (this.#request.open === undefined || clock.now() - this.#toldMs < TELL_EVERY_MS) return;
    this.#toldMs = clock.now();
    notice(
      `${this.#counts.replayed.toLocaleString('en-US')} records put on ${this.#request.to} so far`,
    );
  }
}

/** Key, value and headers as the source record had them, as copies: a chunk may be of as many pieces as it has letters. */
export function originalOf(letter: SourceRecord): OutgoingRecord {
  const { key, value, headers } = detached(letter);
  return { key, value, headers: headers.filter((header) => !isReasonHeader(header)) };
}

async function checkTarget({ admin, pipeline }: Inspection, to: string): Promise<void> {
  const { source, decisions, deadLetters, journal } = pipeline.topics;
  const written = [decisions, deadLetters, journal, ...pipeline.reservedTopics];
  if (
    to !== source &&
    (written.includes(to) || written.some((topic) => memoryTopicOf(topic) === to))
  ) {
    throw new InspectError(
      'usage',
      `${to} is a topic that the connector writes itself: replay to the source, or to a retry topic`,
    );
  }
  if (to.startsWith('__')) throw new InspectError('usage', `${to} is a topic of Kafka's own`);
  if ((await admin.describeTopic(to)) === undefined) {
    throw new InspectError('refused', `topic ${to} does not exist: create it, or correct its name`);
  }
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
  } else if (found.settings.get('cleanup.policy') !== 'compact') {
    throw new InspectError(
      'refused',
      `topic ${topic} must have cleanup.policy=compact: otherwise it forgets what was replayed`,
    );
  }
}
