/** Replays that are killed or fenced, or whose commits have an unknown outcome. Each dead letter must be replayed once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ReplayReport, replayDeadLetters } from '../../../../src/tools/inspect/replay.ts';
import { replayGroupOf } from '../../../../src/tools/inspect/replay-positions.ts';
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
/** Number of dead letters, enough for several transactions. */
const LETTERS = 1_800;

test('each original is published once in the end, for any faults of replays and their commits', async () => {
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
    const to = seed % 2 === 0 ? TOPICS.source : 'retry';
    for (let offset = 0; offset < LETTERS; offset++) putDeadLetter(world, offset % 2, offset);
    const begin = (
      name: string,
    ): { readonly process: VirtualProcess; readonly replaying: Promise<ReplayReport> } => {
      const process = new VirtualProcess(name, world.clock);
      const request = {
        filter: { reasons: [], sources: [], sinceMs: 0 },
        to,
        open: (group: string) =>
          new KafkaClient(world.kafka, process, name, TOPICS).replayProducer(group, 'dead'),
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
      // The next replay may begin while this replay still runs.
      await world.clock.advance(random.below(600));
      if (process.state === 'running' && random.next() < 0.5) {
        await world.clock.advance(300_000);
        if (process.state === 'running' && (await outcome) === 'InspectError') failed++;
      }
    }
    faulty = false;
    // Waits, because a replay that opens its producer late would fence the last replay.
    const areOver = () => [...atWork].every(({ state }) => state !== 'running');
    await world.clock.runUntil(areOver, 600_000);
    const { counts } = await world.through(begin('last').replaying, 600_000);
    assert.equal(counts.replayed + counts.replayed_before, LETTERS);
    await world.clock.advance(120_000);
    const keys = cluster.committedRecords(to).map(({ key }) => String(key));
    assert.deepEqual([keys.length, new Set(keys).size], [LETTERS, LETTERS], `seed ${seed}`);
    const group = replayGroupOf(TOPICS.group);
    for (const partition of [0, 1]) {
      const { offset } = cluster.committedOffset(group, 'dead', partition);
      assert.equal(offset, cluster.log('dead', partition).end);
    }
  }
  assert.ok(killed >= 3 && failed >= 3, `${killed} killed, ${failed} failed`);
});

test('selections in any order replay each selected dead letter once', async () => {
  const reasons = ['not_json', 'no_type', 'no_content'] as const;
  const letter = fc.record({ reason: fc.constantFrom(...reasons), replays: fc.nat(1) });
  const selection = fc.record({
    reasons: fc.subarray([...reasons]),
    since: fc.nat(40),
    offsets: fc.oneof(fc.constant<number[]>([]), fc.uniqueArray(fc.nat(39), { maxLength: 5 })),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(letter, { minLength: 1, maxLength: 40 }),
      fc.array(selection, { maxLength: 6 }),
      async (letters, selections) => {
        const world = new World({ partitions: 1 });
        world.kafka.cluster.createTopic('retry', 1);
        for (const [offset, { reason, replays }] of letters.entries()) {
          putDeadLetter(world, offset % 2, offset, { reason, replays });
          await world.clock.advance(1_000);
        }
        const startMs = world.clock.now() - 1_000 * letters.length;
        const left = new Set(letters.keys());
        let isFirst = true;
        for (const [n, { reasons: chosen, since, offsets }] of selections.entries()) {
          const process = new VirtualProcess(`replay-${n}`, world.clock);
          const before = world.kafka.cluster.committedRecords('retry').length;
          await world.through(
            replayDeadLetters(inspectionOf(world, { process }), {
              filter: {
                reasons: chosen,
                sinceMs: startMs + 1_000 * since,
                sources: offsets.map((offset) => ({ partition: 0, offset })),
              },
              to: 'retry',
              open: (group) =>
                new KafkaClient(world.kafka, process, process.name, TOPICS).replayProducer(
                  group,
                  'dead',
                ),
            }),
          );
          const expected = [...left].filter((offset) => {
            const { reason } = letters[offset] as (typeof letters)[0];
            const isChosen = chosen.length === 0 || chosen.includes(reason);
            const isNamed = offsets.length === 0 || offsets.includes(offset);
            return isChosen && isNamed && offset >= since;
          });
          const published = world.kafka.cluster.committedRecords('retry').slice(before);
          assert.deepEqual(
            published.map(({ key }) => Number(String(key).slice(1))).sort((a, b) => a - b),
            expected,
          );
          for (const offset of expected) left.delete(offset);
          // Dead letters from before the first selection count as replayed.
          if (isFirst && expected.length > 0)
            for (const offset of left) if (offset < since) left.delete(offset);
          isFirst &&= expected.length === 0;
        }
      },
    ),
    { numRuns: 60 },
  );
});
