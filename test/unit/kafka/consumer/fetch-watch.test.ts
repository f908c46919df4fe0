/** Tests with scripted fetch responses how a failing partition affects itself and other partitions. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { type TestContext, test } from 'node:test';
import { FetchWatch } from '../../../../src/kafka/consumer/fetch-watch.ts';
import { flows, Positions, type ReadPosition } from '../../../../src/kafka/consumer/positions.ts';
import { PartitionFetch } from '../../../../src/kafka/kafkajs/partition-fetch.ts';
import { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';
import '../../../../src/kafka/kafkajs/patches.ts';
import type { ProtocolErrors } from '../../../../src/kafka/kafkajs/shapes.ts';

const { createErrorFromCode } = createRequire(import.meta.url)(
  'kafkajs/src/protocol/error.js',
) as ProtocolErrors;
const OUT_OF_RANGE = 1;
const CORRUPT_MESSAGE = 2;

/** Returns a session that reads partitions 0 and 1 of a source from offset 100, with a clock that the test controls. */
function session(t: TestContext) {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const positions = new Positions('events', 'journal');
  positions.assign({ generation: 1, shardCount: 1, shards: new Map([[0, [0, 1]]]) });
  const state = (partition: number) => positions.get('source', partition) as ReadPosition;
  for (const partition of [0, 1]) Object.assign(state(partition), { resumed: true, position: 100 });
  const logger = new RecordingLogger();
  const seeks: [number, number][] = [];
  const outside: number[][] = [];
  const ended: string[] = [];
  let nowMs = 0;
  const world = {
    range: { start: 0, end: 200 },
    refreshes: 0,
    leaderless: false,
    state,
    logger,
    seeks,
    outside,
    ended,
    async pass(ms: number) {
      nowMs += ms;
      t.mock.timers.tick(ms);
      await new Promise(setImmediate);
    },
    /** @param answers error codes by partition @param from fetch offsets, by default the positions */
    async fetched(
      answers: Readonly<Record<number, number>>,
      from: Readonly<Record<number, number>> = {},
    ) {
      const fetches = Object.entries(answers).map(
        ([key, code]) =>
          new PartitionFetch('events', String(from[Number(key)] ?? state(Number(key)).position), {
            partition: Number(key),
            highWatermark: code === 0 ? '200' : '-1',
            messages: Buffer.alloc(0),
            ...(code !== 0 && { failure: createErrorFromCode(code) }),
          }),
      );
      watch.fetched(fetches);
      await new Promise(setImmediate);
    },
  };
  const watch = new FetchWatch({
    positions,
    logger,
    access: () => ({}),
    maxSilenceMs: 100_000,
    apply: () => undefined,
    seek(one, offset) {
      seeks.push([one.partition, offset]);
      one.position = offset;
      one.leftOutUntilMs = undefined;
    },
    range: async () => world.range,
    refreshMetadata: async () => void world.refreshes++,
    isLeaderless: ({ partition }) => world.leaderless && partition === 0,
    outside: (one, offset, end) => outside.push([one.partition, offset, end]),
    end: (reason) => ended.push(reason),
    guard: (run) => run(),
    now: () => nowMs,
  });
  watch.start();
  return world;
}

test('a partition whose fetch fails is left out, logged once, and retried until it can be read', async (t) => {
  const { state, logger, fetched, pass, ...world } = session(t);
  for (let time = 0; time < 3; time++) {
    await fetched({ 0: CORRUPT_MESSAGE, 1: 0 });
    assert.deepEqual([flows(state(0)), flows(state(1))], [false, true]);
    assert.match(state(0).trouble ?? '', /^CORRUPT_MESSAGE: /);
    await pass(4_999);
    assert.equal(flows(state(0)), false);
    await pass(1);
    assert.equal(flows(state(0)), true);
  }
  const named = logger.lines.filter(({ level }) => level === 'warn');
  assert.equal(named.length, 1);
  const { topic, partition, offset, error } = { ...named[0]?.fields } as Record<string, unknown>;
  assert.deepEqual([topic, partition, offset, error], ['events', 0, 100, state(0).trouble]);
  await fetched({ 0: 0, 1: 0 });
  assert.equal(state(0).trouble, undefined);
  assert.match(logger.lines.at(-1)?.message ?? '', /can be read again/);
  assert.deepEqual([world.seeks, world.ended], [[], []]);
});

test('the response to a fetch from before a seek is ignored', async (t) => {
  const { state, fetched, seeks } = session(t);
  const at = state(0);
  await fetched({ 0: CORRUPT_MESSAGE }, { 0: 40 });
  await fetched({ 0: OUT_OF_RANGE }, { 0: 40 });
  assert.deepEqual([flows(at), at.trouble, seeks], [true, undefined, []]);
});

test('a position before the log resumes at the start of the log; a position beyond the end waits for a new position', async (t) => {
  const below = session(t);
  below.range = { start: 120, end: 200 };
  await below.fetched({ 0: OUT_OF_RANGE, 1: 0 });
  assert.deepEqual([below.seeks, below.outside], [[[0, 120]], [[0, 120, 200]]]);
  assert.equal(flows(below.state(0)), true);
  const beyond = session(t);
  beyond.range = { start: 0, end: 50 };
  await beyond.fetched({ 0: OUT_OF_RANGE, 1: 0 });
  assert.deepEqual([beyond.seeks, beyond.outside], [[], [[0, 100, 50]]]);
  assert.deepEqual([flows(beyond.state(0)), flows(beyond.state(1))], [false, true]);
  await beyond.pass(5_000);
  assert.equal(flows(beyond.state(0)), true, 'the position is checked again');
});

test('a partition that no fetch includes is sought again, and finally the session is replaced', async (t) => {
  const { state, fetched, pass, seeks, ended, logger } = session(t);
  const goOn = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      await fetched({ 1: 0 });
      await pass(5_000);
    }
  };
  await goOn(45_000);
  assert.deepEqual([seeks, state(0).trouble], [[], undefined]);
  await goOn(20_000);
  assert.deepEqual(seeks[0], [0, 100]);
  assert.match(state(0).trouble ?? '', /no fetch has included it for \d+ ms/);
  assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
  assert.deepEqual(ended, []);
  await goOn(50_000);
  assert.match(ended[0] ?? '', /^partition 0 of events, offset 100: no fetch has included it/);
  assert.equal(state(1).trouble, undefined);
});

test('partitions without a leader, paused partitions and a stopped fetch loop do not count as left out', async (t) => {
  const leaderless = session(t);
  leaderless.leaderless = true;
  leaderless.state(1).resumed = false;
  for (let passed = 0; passed < 200_000; passed += 5_000) {
    await leaderless.fetched({});
    await leaderless.pass(5_000);
  }
  assert.deepEqual([leaderless.seeks, leaderless.ended], [[], []]);
  const still = session(t);
  await still.fetched({ 0: 0, 1: 0 });
  await still.pass(500_000);
  assert.deepEqual([still.seeks, still.ended], [[], []], 'the whole session has no fetches');
});
