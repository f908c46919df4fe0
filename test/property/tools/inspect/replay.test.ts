/** Replays that are killed, fenced, or misinformed about their commits: each dead letter is replayed once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ReplayReport,
  replayDeadLetters,
} from '../../../../src/tools/inspect/dead-letters/replay.ts';
import { memoryTopicOf } from '../../../../src/tools/inspect/dead-letters/replay-memory.ts';
import { inspectionOf, putDeadLetter } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import { SeededRandom } from '../../../support/memory/clock.ts';
import { KafkaClient } from '../../../support/memory/kafka/client.ts';
import type { CommitFate } from '../../../support/memory/kafka/kafka.ts';
import { VirtualProcess } from '../../../support/memory/process.ts';

const SEEDS = [
  1,
  2,
  3,
  4,
  5,
  6,
  7,
  8,
  ...Array.from({ length: 2 }, () => 1_000 + Math.floor(Math.random() * 2 ** 30)),
];
const FATES: readonly CommitFate[] = [
  'reply-lost',
  'lost',
  'fenced',
  'committed-fenced',
  'aborted',
  'unsent',
  { fate: 'late', lateMs: 400 },
];
/** Several transactions' worth. */
const LETTERS = 1_800;

test('whatever happens to replays and their commits, each original is finally published once', async () => {
  let killed = 0;
  let failed = 0;
  for (const seed of SEEDS) {
    const random = new SeededRandom(seed);
    let faulty = true;
    const world = new World({
      seed,
      shuffle: true,
      hooks: {
        commitFate: () =>
          faulty && random.next() < 0.2
            ? (FATES[random.below(FATES.length)] as CommitFate)
            : 'commit',
      },
    });
    const { cluster } = world.kafka;
    cluster.createTopic('retry', 2);
    // To the source its outcomes are awaited, in vain; to another topic not.
    const to = seed % 2 === 0 ? TOPICS.source : 'retry';
    for (let offset = 0; offset < LETTERS; offset++) putDeadLetter(world, offset % 2, offset);
    const begin = (
      name: string,
    ): { readonly process: VirtualProcess; readonly replaying: Promise<ReplayReport> } => {
      const process = new VirtualProcess(name, world.clock);
      const client = (journal: string) =>
        new KafkaClient(world.kafka, process, name, { ...TOPICS, journal });
      const request = {
        filter: { reasons: [], sources: [] },
        to,
        watch: true,
        rate: seed % 3 === 0 ? 1_000 : undefined,
        listLimit: 10,
        open: (topic: string) => client(topic).producers().open(0),
        instance: name,
      };
      return {
        process,
        replaying: replayDeadLetters(inspectionOf(world, { process, fetchRecords: 200 }), request),
      };
    };

    const atWork = new Set<VirtualProcess>();
    for (let attempt = 0; attempt < 6; attempt++) {
      const { process, replaying } = begin(`replay-${attempt}`);
      const outcome = replaying.then(
        () => 'done',
        (error: Error) => error.name,
      );
      atWork.add(process);
      void outcome.then(() => atWork.delete(process));
      if (random.next() < 0.5) {
        process.afterSteps(random.below(60), () => {
          killed++;
          process.kill();
        });
      }
      // The next one begins while this one may still be at work.
      await world.clock.advance(random.below(600));
      if (process.state === 'running' && random.next() < 0.5) {
        // Portions to the source are awaited.
        await world.clock.advance(300_000);
        if (process.state === 'running' && (await outcome) === 'InspectError') failed++;
      }
    }
    faulty = false;
    // One that is slow to open its producer would fence the last one, which would have to be run again.
    const areOver = () => [...atWork].every(({ state }) => state !== 'running');
    await world.clock.runUntil(areOver, 600_000);
    const { counts } = await world.through(begin('last').replaying, 600_000);
    assert.equal(counts.replayed + counts.replayed_before, LETTERS);
    await world.clock.advance(120_000);
    const keys = cluster.committedRecords(to).map(({ key }) => String(key));
    assert.deepEqual([keys.length, new Set(keys).size], [LETTERS, LETTERS], `seed ${seed}`);
    assert.ok(cluster.log(memoryTopicOf('dead'), 0).committed().length > LETTERS);
  }
  assert.ok(killed >= 3 && failed >= 3, `${killed} killed, ${failed} failed`);
});
