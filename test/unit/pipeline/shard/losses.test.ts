/** Shards that are lost repeatedly at one position (I8) are reported and claimed more slowly. Tested with the engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FetchedBatch } from '../../../../src/core/ports/kafka.ts';
import { Losses } from '../../../../src/pipeline/shard/losses.ts';
import type { ShardWorker } from '../../../../src/pipeline/shard/worker.ts';
import { fetchedThrough } from '../../../support/engine/changed.ts';
import { type Instance, World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

/** Returns a world in which batches of partition 2 fail from this offset on while `broken` returns true. */
function breaking(
  offset: number,
  broken: () => boolean,
  error = (): Error => new TypeError('cannot read "event of a"'),
) {
  const isBroken = ({ stream, partition, nextOffset }: FetchedBatch) =>
    broken() && stream === 'source' && partition === 2 && nextOffset > offset;
  return new World({
    partitions: 4,
    options: { journal: { partitions: 2 }, batch: { maxRows: 1 } },
    hooks: { batchRecords: () => 1 },
    wrap: fetchedThrough((batch, give) =>
      give(isBroken(batch) ? { ...batch, pieces: () => failing(error()) } : batch),
    ),
  });
}

// biome-ignore lint/correctness/useYield: it fails before its first piece
async function* failing(error: Error): AsyncGenerator<never> {
  throw error;
}

const readiness = ({ health }: Instance): string => health.conditions.get('reviews/kafka') ?? '';

test('a shard that fails repeatedly at one position is reported with position and error, and other shards continue', async () => {
  let broken = true;
  const world = breaking(3, () => broken);
  const instance = world.start();
  for (let n = 0; n < 6; n++)
    for (let partition = 0; partition < 4; partition++) world.event(partition);
  await world.clock.advance(5 * MINUTE);
  assert.match(
    readiness(instance),
    /shard 0 is lost repeatedly at partition 2, offset 3 \(\d+ times\): TypeError at .*losses\.test\.ts/,
  );
  assert.doesNotMatch(readiness(instance), /shard 1/);
  const lines = instance.logger.lines.filter(
    ({ level, message }) => level === 'error' && message.startsWith('lost the shard'),
  );
  const last = lines.at(-1)?.fields ?? {};
  assert.deepEqual([last.shard, last.partition, last.offset], [0, 2, 3]);
  assert.ok(Number(last.times) >= 3);
  assert.match(String(last.error), /^TypeError\n {4}at /);
  const decided = new Set(
    world.decisions().map(({ partition, offset }) => `${partition}:${offset}`),
  );
  for (const partition of [1, 3])
    assert.ok(decided.has(`${partition}:5`), 'another shard is not blocked');

  const before = instance.metrics.counter('claims_total', { outcome: 'owned' });
  await world.clock.advance(20 * MINUTE);
  const claims = instance.metrics.counter('claims_total', { outcome: 'owned' }) - before;
  assert.ok(claims >= 20 && claims <= 75, `${claims} claims in 20 minutes`);

  broken = false;
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  await world.clock.advance(2_000);
  assert.equal(readiness(instance), '');
});

test('losses with other positions or other errors do not count as repeated', () => {
  const losses = new Losses();
  const at = (offset: number) => [{ partition: 0, offset }];
  for (const offset of [1, 2, 3, 4]) losses.lost(at(offset), new TypeError('x'));
  assert.equal(losses.text, undefined);
  losses.lost(at(4), new TypeError('y'));
  losses.lost(at(4), new RangeError('y'));
  assert.equal(losses.text, undefined);
  losses.lost(at(4), new RangeError('z'));
  losses.lost(at(4), new RangeError('z'));
  assert.match(losses.text ?? '', /at partition 0, offset 4 \(3 times\): RangeError/);
});

test('losses are forgotten after the position was passed, two minutes of ownership, or ten idle seconds', () => {
  const losses = new Losses();
  const thrice = () => {
    for (let n = 0; n < 3; n++)
      losses.lost([{ partition: 0, offset: 7 }], new Error('the disk is full'));
  };
  thrice();
  assert.match(losses.text ?? '', /the disk is full/);
  losses.owned(1_000, true, () => 7);
  assert.notEqual(losses.text, undefined);
  losses.owned(2_000, false, () => 8);
  assert.equal(losses.text, undefined);
  thrice();
  losses.owned(120_000, false, () => 7);
  assert.equal(losses.text, undefined);
  thrice();
  losses.owned(10_000, false, () => 7);
  assert.notEqual(losses.text, undefined);
  losses.owned(10_000, true, () => 7);
  assert.equal(losses.text, undefined);
  for (let n = 0; n < 3; n++) losses.lost([], new Error('no broker'));
  assert.match(losses.text ?? '', /^cannot be claimed \(3 times\): Error: no broker/);
});

test('the time as owner starts again if the shard is lost and claimed again between two reports', () => {
  const losses = new Losses();
  const state = { partitions: new Map() };
  const owned = { unsettled: 0, intake: { lag: 0 }, shard: { state } };
  const owner = { owned } as object as ShardWorker;
  for (let nowMs = 0; nowMs <= 60_000; nowMs += 5_000) {
    losses.look(owner, nowMs);
    losses.lost([{ partition: 0, offset: 9 }], new Error('no topic'));
  }
  assert.match(losses.text ?? '', /at partition 0, offset 9 \(13 times\)/);
});

test('a shard that fails repeatedly because of Kafka is claimed as often as before', async () => {
  let broken = true;
  const world = breaking(
    3,
    () => broken,
    () => new Error('the broker is gone'),
  );
  const instance = world.start();
  for (let n = 0; n < 6; n++) world.event(2);
  await world.clock.advance(5 * MINUTE);
  const before = instance.metrics.counter('claims_total', { outcome: 'owned' });
  await world.clock.advance(5 * MINUTE);
  const claims = instance.metrics.counter('claims_total', { outcome: 'owned' }) - before;
  assert.ok(claims > 22, `${claims} claims in 5 minutes`);
  broken = false;
  await world.untilSettled(10 * MINUTE);
});
