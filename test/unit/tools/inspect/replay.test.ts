/** Tests of replays that cannot begin, and of originals that the target rejects. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetter } from '../../../../src/core/outcome/dead-letter.ts';
import { TransactionError } from '../../../../src/core/ports/kafka.ts';
import type { InspectError } from '../../../../src/tools/inspect/context.ts';
import {
  originalOf,
  type ReplayReport,
  type ReplayRequest,
  replayDeadLetters,
} from '../../../../src/tools/inspect/replay.ts';
import {
  type InspectionSettings,
  inspectionOf,
  putDeadLetter,
} from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import { KafkaClient } from '../../../support/memory/kafka/client.ts';
import { VirtualProcess } from '../../../support/memory/process.ts';
import { headerList } from '../../../support/records/headers.ts';

const ALL = { reasons: [], sources: [], sinceMs: 0 };

function worldWith(letters: number): World {
  const world = new World();
  world.kafka.cluster.createTopic('retry', 1);
  for (let offset = 0; offset < letters; offset++) putDeadLetter(world, 0, offset);
  return world;
}

function replay(
  world: World,
  more: Partial<ReplayRequest> = {},
  pipeline: NonNullable<InspectionSettings['pipeline']> = {},
): Promise<ReplayReport> {
  const process = new VirtualProcess('replay', world.clock);
  const request: ReplayRequest = {
    filter: ALL,
    to: 'retry',
    open: (group) =>
      new KafkaClient(world.kafka, process, 'replay', TOPICS).replayProducer(group, 'dead'),
    ...more,
  };
  return world.through(
    replayDeadLetters(inspectionOf(world, { process, pipeline, fetchRecords: 200 }), request),
    600_000,
  );
}

const keysOf = (world: World) =>
  world.kafka.cluster.committedRecords('retry').map(({ key }) => String(key));

test('a replay that cannot fence reports an unresponsive coordinator', async () => {
  const world = worldWith(3);
  const silent = new TransactionError('aborted', 'it took longer than 10000 ms');
  const open = () => ({
    fence: () => Promise.reject(silent),
    commit: () => Promise.reject(new Error('not fenced')),
    close: async () => {},
  });
  await assert.rejects(
    replay(world, { open }),
    (error: InspectError) => error.failure === 'unreachable' && /took longer/.test(error.message),
  );
});

test('an original that is too large for the target is reported and skipped, and all others are replayed', async () => {
  const world = worldWith(0);
  const settings = new Map([['max.message.bytes', '160']]);
  world.kafka.cluster.createTopic('small', 1, { settings });
  const tooLarge = [7, 8, 1_233];
  for (let offset = 0; offset < 1_300; offset++)
    putDeadLetter(world, 0, offset, { text: tooLarge.includes(offset) ? 'v'.repeat(90) : 'v' });
  const { counts } = await replay(world, { to: 'small' });
  assert.deepEqual(counts, {
    replayed: 1_297,
    replayed_before: 0,
    no_value: 0,
    too_large_for_target: 3,
  });
  const { counts: later } = await replay(world);
  assert.deepEqual([later.replayed, later.replayed_before], [3, 1_297]);
  assert.deepEqual(keysOf(world), ['k7', 'k8', 'k1233']);
});

test('topics that a configured pipeline writes and internal topics are refused as targets, except for the source', async () => {
  const world = worldWith(1);
  const reserved = { reservedTopics: ['retry', 'other-dead', TOPICS.source] };
  world.kafka.cluster.createTopic('__consumer_offsets', 1);
  for (const to of ['decisions', 'dead', TOPICS.journal, 'retry', '__consumer_offsets']) {
    await assert.rejects(
      replay(world, { to }, reserved),
      (error: InspectError) => error.failure === 'usage',
      to,
    );
  }
  assert.equal((await replay(world, { to: TOPICS.source }, reserved)).counts.replayed, 1);
});

test('an original has the key, the value and the headers of its record in order, without the headers of the dead letter', () => {
  const headers = headerList({
    twice: [Buffer.from('a'), null],
    toString: Buffer.from('b'),
    'event-id': Buffer.from('forged'),
  });
  const record = {
    partition: 0,
    offset: 7,
    timestampMs: 0,
    key: Buffer.from('k'),
    value: Buffer.from('v'),
    headers,
  };
  const context = { topic: TOPICS.source, stage: 'decode', replay: 0, maxValueBytes: 100 } as const;
  const letter = deadLetter(record, { reason: 'not_json', message: 'no' }, context);
  const { key, value } = record;
  assert.deepEqual(originalOf({ ...record, headers: letter.headers ?? [] }), {
    key,
    value,
    headers: [...headers.slice(0, 3), ['dead-letter-replays', '1']],
  });
});
