/** The tools in a simulated world: they look at it from a process of their own while it goes on. */
import type { Inspection } from '../../../src/inspect/context.ts';
import { KafkaClient } from '../memory/client.ts';
import { VirtualProcess } from '../memory/process.ts';
import { MemoryTopicScan } from '../memory/topic-scan.ts';
import { TOPICS, type World } from './world.ts';

export interface InspectionSettings {
  readonly fetchRecords?: number;
  readonly pipeline?: Partial<Inspection['pipeline']>;
  /** Where the tool runs: to be killed. */
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
      topics: { source: TOPICS.source, journal: TOPICS.journal, decisions: 'decisions', deadLetters: 'dead' },
      reservedTopics: [],
      inOrder: false,
      skipsNullValues: false,
      transactionTimeoutMs: 60_000,
      ...pipeline,
    },
    scan: new MemoryTopicScan(world.kafka, process, TOPICS.source, fetchRecords),
    admin: new KafkaClient(world.kafka, process, 'tools', TOPICS).admin(),
    clock: process,
    signal: new AbortController().signal,
    notice: () => {},
    remoteBatch: undefined,
  };
}

/**
 * From now on the markers of transactions reach each output partition up to `lagMs` after their commit, as those of a real
 * cluster do: a partition shows a commit later than the journal does.
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
