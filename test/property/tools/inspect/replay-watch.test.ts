import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { replayDeadLetters } from '../../../../src/tools/inspect/dead-letters/replay.ts';
import { inspectionOf, putDeadLetter } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import { KafkaClient } from '../../../support/memory/kafka/client.ts';
import { VirtualProcess } from '../../../support/memory/process.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';

const ALL = { reasons: [], sources: [], sinceMs: 0 };
const GOOD = sourceValue({ type: 'a', content: 'reviewed' });

/** Number of records that go out: portions of 100, 200, 400, … until more than half of one is poison. */
function expected(poison: readonly boolean[]): number {
  let [from, size] = [0, 100];
  while (from + size < poison.length) {
    if (2 * poison.slice(from, from + size).filter(Boolean).length > size) return from + size;
    from += size;
    size *= 2;
  }
  return poison.length;
}

test('a replay ends exactly after the first portion of which most fails again', async () => {
  const runs = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 250 })), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(runs, async (parts) => {
      const poison = parts.flatMap(([bad, length]) => Array.from({ length }, () => bad));
      const world = new World({ partitions: 1 });
      poison.forEach((bad, at) => {
        putDeadLetter(world, 0, at, { text: bad ? 'poison' : GOOD });
      });
      world.start();
      const process = new VirtualProcess('replay', world.clock);
      const { counts, failing } = await world.through(
        replayDeadLetters(inspectionOf(world, { process, fetchRecords: 200 }), {
          filter: ALL,
          to: TOPICS.source,
          listLimit: 1,
          open: (group) =>
            new KafkaClient(world.kafka, process, 'replay', TOPICS).replayProducer(group, 'dead'),
          watch: true,
        }),
        600_000,
      );
      assert.equal(counts.replayed, expected(poison));
      assert.equal(failing !== null, counts.replayed < poison.length);
    }),
    { numRuns: 15 },
  );
});
