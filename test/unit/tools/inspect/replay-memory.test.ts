/** Contents of the replay memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetter } from '../../../../src/core/outcome/dead-letter.ts';
import type { InspectError } from '../../../../src/tools/inspect/context.ts';
import { replayDeadLetters } from '../../../../src/tools/inspect/dead-letters/replay.ts';
import { memoryTopicOf } from '../../../../src/tools/inspect/dead-letters/replay-memory.ts';
import { inspectionOf } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import { KafkaClient } from '../../../support/memory/kafka/client.ts';
import { VirtualProcess } from '../../../support/memory/process.ts';

function putLetter(world: World, offset: number): void {
  const record = {
    partition: 0,
    offset,
    timestampMs: 0,
    key: null,
    value: Buffer.from('v'),
    headers: [],
  };
  const context = { topic: TOPICS.source, stage: 'decode', replay: 0, maxValueBytes: 100 } as const;
  world.kafka.cluster.produce('dead', 0, [
    deadLetter(record, { reason: 'not_json', message: 'no' }, context),
  ]);
}

/** Replayed now and before. */
async function replay(world: World): Promise<[number, number]> {
  const process = new VirtualProcess('replay', world.clock);
  const request = {
    filter: { reasons: [], sources: [] },
    to: TOPICS.source,
    listLimit: 10,
    open: (journal: string) =>
      new KafkaClient(world.kafka, process, 'replay', { ...TOPICS, journal }).producers().open(0),
    instance: 'replay',
  };
  const { counts } = await world.through(
    replayDeadLetters(inspectionOf(world, { process }), request),
  );
  return [counts.replayed, counts.replayed_before];
}

test('compaction keeps the memory; dead letters of a recreated topic are new ones, even at the same offsets', async () => {
  const world = new World();
  putLetter(world, 1);
  putLetter(world, 2);
  assert.deepEqual(await replay(world), [2, 0]);
  world.kafka.cluster.log(memoryTopicOf('dead'), 0).compact({ dropTombstones: true });
  assert.deepEqual(await replay(world), [0, 2]);
  await world.clock.advance(1_000);
  world.kafka.cluster.deleteTopic('dead');
  world.kafka.cluster.createTopic('dead', 2);
  putLetter(world, 7);
  assert.deepEqual(await replay(world), [1, 0]);
});

test('a memory with foreign records is refused', async () => {
  const world = new World();
  putLetter(world, 1);
  await replay(world);
  world.kafka.cluster.produce(memoryTopicOf('dead'), 0, [{ key: '0/1', value: '{"v":2}' }]);
  await assert.rejects(
    replay(world),
    (error: InspectError) => error.failure === 'refused' && /cannot read/.test(error.message),
  );
});
