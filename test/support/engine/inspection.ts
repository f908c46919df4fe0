/** Tools in a simulated world. Each runs in its own process. */
import type { Command } from '../../../src/core/journal/control.ts';
import { deadLetter, REPLAYS_HEADER } from '../../../src/core/outcome/dead-letter.ts';
import type { DeadLetterReason } from '../../../src/core/outcome/dead-letter-reason.ts';
import type { SourceCoordinate, SourceRecord } from '../../../src/core/record.ts';
import type { AuditPosition, PositionStore } from '../../../src/tools/inspect/audit.ts';
import type { Inspection } from '../../../src/tools/inspect/context.ts';
import {
  type ControlReport,
  type ControlTools,
  giveCommand,
} from '../../../src/tools/inspect/control.ts';
import { type Explanation, explainRecords } from '../../../src/tools/inspect/explain.ts';
import { KafkaClient } from '../memory/kafka/client.ts';
import { MemoryTopicScan } from '../memory/kafka/topic-scan.ts';
import { VirtualProcess } from '../memory/process.ts';
import { headerList } from '../records/headers.ts';
import { TOPICS, type World } from './world.ts';

interface CommandSettings {
  readonly timeoutMs?: number;
  readonly tools?: ControlTools;
}

export interface InspectionSettings {
  readonly fetchRecords?: number;
  readonly pipeline?: Partial<Inspection['pipeline']>;
  /** Process of the tool, so that it can be killed. */
  readonly process?: VirtualProcess;
}

export function inspectionOf(
  world: World,
  { fetchRecords = 5, pipeline = {}, process: given }: InspectionSettings = {},
): Inspection {
  const process = given ?? new VirtualProcess('tools', world.clock);
  return {
    pipeline: {
      name: 'reviews',
      kind: 'scripted',
      group: TOPICS.group,
      topics: {
        source: TOPICS.source,
        journal: TOPICS.journal,
        decisions: 'decisions',
        deadLetters: 'dead',
      },
      reservedTopics: [],
      isSkipped: () => false,
      transactionTimeoutMs: 60_000,
      ...pipeline,
    },
    scan: new MemoryTopicScan(world.kafka, process, TOPICS.source, fetchRecords),
    admin: new KafkaClient(world.kafka, process, 'tools', TOPICS).admin(),
    clock: process,
    signal: new AbortController().signal,
    notice: () => {},
  };
}

/** In-memory store of an audit's position. @param given position that the first read returns */
export function memoryPosition(given?: Partial<AuditPosition>): PositionStore {
  let position = given && { sources: new Map(), outputs: new Map(), ...given };
  return {
    read: async () => position,
    write: async (written) => {
      position = written;
    },
  };
}

/** Explains one record. */
export async function explain(world: World, inspection: Inspection, at: SourceCoordinate) {
  const [explained] = await world.through(explainRecords(inspection, [at]), 600_000);
  return explained as Explanation;
}

/** Tools that write commands. */
export function controlOf(world: World, settings: InspectionSettings = {}): ControlTools {
  const process = settings.process ?? new VirtualProcess('tools', world.clock);
  const client = new KafkaClient(world.kafka, process, process.name, TOPICS);
  return {
    ...inspectionOf(world, { ...settings, process }),
    openControl: (shards) => client.controlProducer(shards),
  };
}

/** Writes a command, then runs the world until the command has taken effect or the timeout has passed. */
export function command(
  world: World,
  what: Command,
  { timeoutMs = 600_000, tools }: CommandSettings = {},
): Promise<ControlReport> {
  const given = { command: what, by: 'ann@host', reason: undefined };
  const waiting = { timeoutMs, onProgress: () => {}, signal: new AbortController().signal };
  const work = giveCommand(tools ?? controlOf(world), given, waiting);
  return world.through(work, timeoutMs + 120_000);
}

/** Passes the records that the tool reads from a topic through `rewrite`. */
export function rewriteReads(
  { scan }: Inspection,
  rewrite: (topic: string, records: readonly SourceRecord[]) => readonly SourceRecord[],
): void {
  const read = scan.read.bind(scan);
  scan.read = (topic, range, onPiece, signal) =>
    read(
      topic,
      range,
      (piece) => onPiece({ ...piece, records: rewrite(topic, piece.records) }),
      signal,
    );
}

interface LetterSettings {
  readonly text?: string;
  readonly reason?: DeadLetterReason;
  /** Number of earlier replays of the source record. */
  readonly replays?: number;
}

/** Writes the dead letter of source record 0:`offset`, with key `k<offset>`. */
export function putDeadLetter(
  world: World,
  partition: number,
  offset: number,
  { text = 'v', reason = 'not_json', replays = 0 }: LetterSettings = {},
): void {
  const record = {
    partition: 0,
    offset,
    timestampMs: 0,
    key: Buffer.from(`k${offset}`),
    value: Buffer.from(text),
    headers: headerList(replays > 0 ? { [REPLAYS_HEADER]: Buffer.from(String(replays)) } : {}),
  };
  const context = { topic: TOPICS.source, stage: 'decode', replay: 0, maxValueBytes: 100 } as const;
  world.kafka.cluster.produce('dead', partition, [
    deadLetter(record, { reason, message: 'no' }, context),
  ]);
}

/**
 * Delays transaction markers from now on. They reach each output partition up to `lagMs` after the commit, as in a real
 * cluster, so a partition shows a commit later than the journal does.
 */
export function delayOutputMarkers(world: World, lagMs: () => number): void {
  const { cluster } = world.kafka;
  for (const topic of ['decisions', 'dead']) {
    for (let partition = 0; partition < cluster.partitions(topic); partition++) {
      const log = cluster.log(topic, partition);
      const finish = log.finish.bind(log);
      log.finish = (transaction, outcome, nowMs) => {
        world.clock.after(lagMs(), () => finish(transaction, outcome, nowMs));
      };
    }
  }
}
