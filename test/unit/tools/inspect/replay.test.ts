/** Replays that are stopped, whose target refuses originals, and whose selection has no dead letters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetter } from '../../../../src/core/outcome/dead-letter.ts';
import type { InspectError } from '../../../../src/tools/inspect/context.ts';
import {
  originalOf,
  type ReplayReport,
  type ReplayRequest,
  replayDeadLetters,
} from '../../../../src/tools/inspect/dead-letters/replay.ts';
import { memoryTopicOf } from '../../../../src/tools/inspect/dead-letters/replay-memory.ts';
import {
  type InspectionSettings,
  inspectionOf,
  putDeadLetter,
} from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import { KafkaClient } from '../../../support/memory/kafka/client.ts';
import type { CommitFate, MemoryKafka } from '../../../support/memory/kafka/kafka.ts';
import { VirtualProcess } from '../../../support/memory/process.ts';
import { headerList } from '../../../support/records/headers.ts';

type CommitAttempt = Parameters<NonNullable<MemoryKafka['hooks']['commitFate']>>[0];

function worldWith(
  letters: number,
  commitFate: (keys: readonly string[], attempt: CommitAttempt) => CommitFate,
): World {
  const world = new World({
    hooks: {
      commitFate: (attempt) => {
        const outputs = attempt.transaction.outputs ?? [];
        return commitFate(
          outputs.flatMap(({ records }) => Array.from(records, ({ key }) => String(key))),
          attempt,
        );
      },
    },
  });
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
    filter: { reasons: [], sources: [] },
    to: 'retry',
    listLimit: 2_000,
    open: (journal) =>
      new KafkaClient(world.kafka, process, 'replay', { ...TOPICS, journal }).producers().open(0),
    instance: 'replay',
    ...more,
  };
  return world.through(
    replayDeadLetters(inspectionOf(world, { process, pipeline, fetchRecords: 200 }), request),
    600_000,
  );
}

const keysOf = (world: World) =>
  world.kafka.cluster.committedRecords('retry').map(({ key }) => String(key));

test('a stopped replay finishes the transaction in flight and begins no other; the next run continues', async () => {
  const stop = new AbortController();
  let transactions = 0;
  const world = worldWith(1_800, (keys) => {
    if (keys.length > 0 && ++transactions === 2) stop.abort();
    return 'commit';
  });
  const first = await replay(world, { stop: stop.signal });
  assert.deepEqual([first.interrupted, first.counts.replayed, transactions], [true, 1_000, 2]);
  assert.equal(first.deadLetters.length, 1_000);
  assert.ok(first.deadLetters.every(({ status }) => status === 'replayed'));
  assert.equal(keysOf(world).length, 1_000);
  const second = await replay(world);
  assert.deepEqual(
    [second.interrupted, second.counts.replayed, second.counts.replayed_before],
    [false, 800, 1_000],
  );
  assert.equal(new Set(keysOf(world)).size, 1_800);
});

test('a replay stopped before its start replays nothing', async () => {
  const world = worldWith(3, () => 'commit');
  const { interrupted, counts } = await replay(world, { stop: AbortSignal.abort() });
  assert.deepEqual([interrupted, counts.replayed, keysOf(world)], [true, 0, []]);
});

test('an original that alone is too large for the target is reported, and all others are replayed', async () => {
  const tooLarge = ['k7', 'k8', 'k1233'];
  const world = worldWith(1_300, (keys) =>
    tooLarge.some((key) => keys.includes(key)) ? 'too-large' : 'commit',
  );
  const { counts, deadLetters } = await replay(world);
  assert.deepEqual(counts, {
    replayed: 1_297,
    replayed_before: 0,
    failed_again: 0,
    no_value: 0,
    too_large_for_target: 3,
  });
  const refused = deadLetters
    .filter(({ status }) => status === 'too_large_for_target')
    .map(({ offset }) => `k${offset}`);
  assert.deepEqual(refused, tooLarge);
  const keys = keysOf(world);
  assert.deepEqual([keys.length, new Set(keys).size], [1_297, 1_297]);
  assert.equal((await replay(world)).counts.replayed_before, 1_297);
});

test('a chunk that is too large is sent in parts', async () => {
  let transactions = 0;
  const world = worldWith(700, (keys) => {
    if (keys.length > 0) transactions++;
    return keys.length > 60 ? 'too-large' : 'commit';
  });
  const { counts } = await replay(world);
  assert.deepEqual(
    [counts.replayed, counts.too_large_for_target, keysOf(world).length],
    [700, 0, 700],
  );
  assert.ok(transactions < 50, `${transactions} transactions`);
});

test('a replay stopped between the parts of a chunk leaves the rest', async () => {
  const stop = new AbortController();
  const world = worldWith(400, (keys) => {
    if (keys.length > 60) return 'too-large';
    if (keys.length > 0) stop.abort();
    return 'commit';
  });
  const { counts, deadLetters, interrupted } = await replay(world, { stop: stop.signal });
  assert.deepEqual(
    [interrupted, counts.replayed, deadLetters.length, keysOf(world).length],
    [true, 50, 50, 50],
  );
  assert.equal((await replay(world)).counts.replayed_before, 50);
});

test('after a refusal the memory is read again: another replay may have run meanwhile', async () => {
  let refused = false;
  const world = worldWith(4, (keys) => {
    if (keys.length !== 4 || refused) return 'commit';
    refused = true;
    // The process that replayed it has ended, before the next producer of ours fences it.
    const memory = memoryTopicOf('dead');
    const [letter] = world.kafka.cluster.log('dead', 0).committed();
    const value = JSON.stringify({
      v: 1,
      eventId: 'e',
      to: 'x',
      publishedMs: letter?.timestampMs,
      atMs: 1,
    });
    world.kafka.cluster.produce(memory, 0, [{ key: '0/0', value }]);
    return 'too-large';
  });
  const { counts } = await replay(world);
  assert.deepEqual([counts.replayed, counts.replayed_before], [3, 1]);
  assert.deepEqual(keysOf(world), ['k1', 'k2', 'k3']);
});

test('chosen records without a dead letter are listed', async () => {
  const world = worldWith(2, () => 'commit');
  const sources = [1, 5, 7].map((offset) => ({ partition: 0, offset }));
  const { counts, unmatched } = await replay(world, {
    filter: { reasons: [], sources },
    open: undefined,
  });
  assert.equal(counts.replayed, 1);
  assert.deepEqual(unmatched, [
    { partition: 0, offset: 5 },
    { partition: 0, offset: 7 },
  ]);
});

test('topics that a pipeline of the configuration writes, and internal topics of Kafka, are refused as targets; the source is accepted', async () => {
  const world = worldWith(1, () => 'commit');
  const reserved = { reservedTopics: ['retry', 'other-dead', TOPICS.source] };
  world.kafka.cluster.createTopic('other-dead.replays', 1);
  world.kafka.cluster.createTopic('__consumer_offsets', 1);
  for (const to of [
    'decisions',
    'dead',
    TOPICS.journal,
    'retry',
    'other-dead.replays',
    '__consumer_offsets',
  ]) {
    await assert.rejects(
      replay(world, { to }, reserved),
      (error: InspectError) => error.failure === 'usage',
      to,
    );
  }
  assert.equal((await replay(world, { to: TOPICS.source }, reserved)).counts.replayed, 1);
});

test('an original has the key, the value and each header of its record, in order, without those of the dead letter', () => {
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

test('a long replay reports its progress', async () => {
  const notices: string[] = [];
  let aheadMs = 0;
  const world = worldWith(1_800, (keys) => {
    if (keys.length > 0) aheadMs += 3_000;
    return 'commit';
  });
  const process = new VirtualProcess('replay', world.clock);
  const inspection = {
    ...inspectionOf(world, { process, fetchRecords: 200 }),
    clock: {
      now: () => process.now() + aheadMs,
      monotonic: () => process.monotonic() + aheadMs,
      after: process.after.bind(process),
      sleep: process.sleep.bind(process),
    },
    notice: (text: string) => notices.push(text),
  };
  const open = (journal: string) =>
    new KafkaClient(world.kafka, process, 'replay', { ...TOPICS, journal }).producers().open(0);
  const request = {
    filter: { reasons: [], sources: [] },
    to: 'retry',
    listLimit: 1,
    open,
    instance: 'replay',
  };
  await world.through(replayDeadLetters(inspection, request), 600_000);
  assert.deepEqual(notices, [
    '1,000 records published to retry so far',
    '1,800 records published to retry so far',
  ]);
});
