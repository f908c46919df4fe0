/** Puts the originals of dead letters back on a topic, each once. */
import { DEAD_LETTER_HEADERS } from '../core/dead-letter.ts';
import { type ShardProducer, TransactionError } from '../core/ports/kafka.ts';
import type { OutgoingRecord, SourceRecord } from '../core/record.ts';
import { InspectError, type Inspection } from './context.ts';
import { type Letter, type LetterFilter, scanLetters } from './dead-letters.ts';
import { memoryTopicOf, ownerWrite, ReplayMemory, replayedWrite } from './replay-memory.ts';

/** Originals of one transaction. */
const MAX_ROWS = 500;
const MAX_BYTES = 4 * 1024 * 1024;

export type ReplayStatus =
  /** Put back, or with a dry run: would be. */
  | 'replayed'
  | 'replayed_before'
  /** The letter has no value: it was gone from the source, too large for the dead letters, or there never was one. */
  | 'no_value';

export interface ReplayReport {
  readonly dryRun: boolean;
  readonly to: string;
  readonly counts: Readonly<Record<ReplayStatus, number>>;
  readonly letters: readonly (Letter & { readonly status: ReplayStatus })[];
  /** The list was cut: `counts` tell of all. */
  readonly listCut: boolean;
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
}

/**
 * One transaction holds originals and what is remembered of them. A second replay at the same time fences the first; a
 * replay that was interrupted is continued by running it again.
 * @throws InspectError
 */
export async function replayLetters(inspection: Inspection, request: ReplayRequest): Promise<ReplayReport> {
  const { to, filter, listLimit, open } = request;
  await checkTarget(inspection, to);
  if (open === undefined) return await run(inspection, request, await ReplayMemory.read(inspection), async () => undefined);
  await prepareMemory(inspection);
  const producer = open(memoryTopicOf(inspection.pipeline.topics.deadLetters));
  const commit = async (...args: Parameters<ShardProducer['commit']>) => {
    try {
      return await producer.commit(...args);
    } catch (error) {
      if (!(error instanceof TransactionError)) throw error;
      throw replayFailure(error);
    }
  };
  try {
    // Fences an earlier replay and settles what it left open; only then is the memory complete up to this record.
    const { journalOffset } = await commit({ journal: [ownerWrite(request.instance, inspection.clock.now())] });
    const memory = await ReplayMemory.read(inspection, journalOffset + 1);
    return await run(inspection, { to, filter, listLimit, open, instance: request.instance }, memory, async (chunk) => {
      const [head, ...rest] = chunk.map(({ letter }) => replayedWrite(letter, to, inspection.clock.now()));
      if (head === undefined) return;
      const outputs = [{ topic: to, records: chunk.map(({ original }) => original) }];
      await commit({ journal: [head, ...rest], outputs });
    });
  } finally {
    await producer.close();
  }
}

interface Replayable {
  readonly letter: Letter;
  readonly original: OutgoingRecord;
}

async function run(
  inspection: Inspection,
  { filter, to, listLimit, open }: ReplayRequest,
  memory: ReplayMemory,
  write: (chunk: readonly Replayable[]) => Promise<void>,
): Promise<ReplayReport> {
  const counts: Record<ReplayStatus, number> = { replayed: 0, replayed_before: 0, no_value: 0 };
  const letters: (Letter & { status: ReplayStatus })[] = [];
  let chunk: Replayable[] = [];
  let bytes = 0;
  let writing: Promise<undefined> = Promise.resolve(undefined);
  /** Transactions of one producer must not overlap: several partitions are read at a time. */
  const flush = (): Promise<undefined> => {
    const full = chunk;
    chunk = [];
    bytes = 0;
    writing = writing.then(async () => {
      await write(full);
      return undefined;
    });
    return writing;
  };
  await scanLetters(inspection, filter, (letter, { record }) => {
    const status = statusOf(letter, memory);
    counts[status]++;
    if (letters.length < listLimit) letters.push({ ...letter, status });
    if (status !== 'replayed') return undefined;
    chunk.push({ letter, original: originalOf(record) });
    bytes += letter.valueBytes ?? 0;
    return chunk.length >= MAX_ROWS || bytes >= MAX_BYTES ? flush() : undefined;
  });
  await flush();
  const listed = letters.length;
  return {
    dryRun: open === undefined,
    to,
    counts,
    letters,
    listCut: listed < counts.replayed + counts.replayed_before + counts.no_value,
  };
}

function statusOf(letter: Letter, memory: ReplayMemory): ReplayStatus {
  if (memory.replayedMs(letter) !== undefined) return 'replayed_before';
  return letter.valueBytes === null ? 'no_value' : 'replayed';
}

const OURS: ReadonlySet<string> = new Set(Object.values(DEAD_LETTER_HEADERS));

/** Key, value and headers as the source record had them. */
export function originalOf({ key, value, headers }: SourceRecord): OutgoingRecord {
  return { key, value, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OURS.has(name))) };
}

async function checkTarget({ admin, pipeline }: Inspection, to: string): Promise<void> {
  const { decisions, deadLetters, journal } = pipeline.topics;
  if ([decisions, deadLetters, journal, memoryTopicOf(deadLetters)].includes(to)) {
    throw new InspectError(
      'usage',
      `${to} is a topic that the connector writes itself: replay to the source, or to a retry topic`,
    );
  }
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
    throw new InspectError('refused', `topic ${topic} must have cleanup.policy=compact: otherwise it forgets what was replayed`);
  }
}

function replayFailure(error: TransactionError): InspectError {
  const again = 'Run it again: it goes on where this one stopped, and replays nothing twice.';
  switch (error.failure) {
    case 'fenced':
      return new InspectError('refused', `another replay of the same dead letters has begun: this one ends. ${again}`, {
        cause: error,
      });
    case 'rejected':
      return new InspectError('refused', `Kafka refuses the replayed records: ${error.message}`, { cause: error });
    default:
      return new InspectError('unreachable', `${error.message}. ${again}`, { cause: error });
  }
}
