/** A shard that is lost again and again (I8): it is named, claimed more slowly, and not ready. Over the engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FetchedBatch } from '../../../../src/core/ports/kafka.ts';
import { Losses } from '../../../../src/pipeline/shard/losses.ts';
import { fetchedThrough } from '../../../support/engine/changed.ts';
import { type Instance, World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

/** Fetched batches of partition 2 cannot be taken from this offset on, while `broken` holds. */
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

test('a shard that fails again and again is named with partition, offset and error, and the others go on', async () => {
  let broken = true;
  const world = breaking(3, () => broken);
  const instance = world.start();
  for (let n = 0; n < 6; n++)
    for (let partition = 0; partition < 4; partition++) world.event(partition);
  await world.clock.advance(5 * MINUTE);
  assert.match(
    readiness(instance),
    /shard 0 was lost or not claimed \d+ times in a row at partition 2, offset 3: TypeError at .*losses\.test\.ts/,
  );
  assert.doesNotMatch(readiness(instance), /shard 1/);
  const lines = instance.logger.lines.filter(
    ({ level, message }) => level === 'error' && message.startsWith('lost the shard'),
  );
  const last = lines.at(-1)?.fields ?? {};
  assert.deepEqual([last.shard, last.partition, last.offset], [0, 2, 3]);
  assert.ok(Number(last.failures) >= 3);
  assert.match(String(last.error), /^TypeError\n {4}at /);
  const decided = new Set(
    world.decisions().map(({ partition, offset }) => `${partition}:${offset}`),
  );
  for (const partition of [1, 3])
    assert.ok(decided.has(`${partition}:5`), 'another shard is not held up');

  const before = instance.metrics.counter('claims_total', { outcome: 'owned' });
  await world.clock.advance(20 * MINUTE);
  const claims = instance.metrics.counter('claims_total', { outcome: 'owned' }) - before;
  assert.ok(claims >= 20 && claims <= 75, `${claims} claims in 20 minutes`);

  broken = false;
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  await world.clock.advance(35_000);
  assert.equal(readiness(instance), '');
});

test('losses are forgotten once the shard was owned for long, or was idle, or was given up', () => {
  const losses = new Losses();
  const thrice = () => {
    for (let n = 0; n < 3; n++) losses.lost(new Error('no broker'));
    losses.look(undefined, 0);
  };
  for (const [isIdle, afterMs] of [
    [true, 10_000],
    [false, 120_000],
  ] as const) {
    thrice();
    assert.match(losses.text ?? '', /^was lost or not claimed 3 times in a row: Error: no broker/);
    losses.look({ isIdle }, 1_000);
    losses.look({ isIdle }, 999 + afterMs);
    assert.notEqual(losses.text, undefined);
    losses.look({ isIdle }, 1_000 + afterMs);
    assert.equal(losses.text, undefined);
  }
  thrice();
  losses.forgive();
  assert.equal(losses.text, undefined);
});

test('a shard that Kafka keeps failing at the same position is claimed as often as before', async () => {
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
  await world.clock.advance(20 * MINUTE);
  const claims = instance.metrics.counter('claims_total', { outcome: 'owned' }) - before;
  assert.ok(claims > 90, `${claims} claims in 20 minutes`);
  broken = false;
  await world.untilSettled(10 * MINUTE);
});
