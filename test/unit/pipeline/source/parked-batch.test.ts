/** A content type whose batches wait does not occupy memory (I7). Tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Instance, World, type WorldSettings } from '../../../support/engine/world.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';

const MINUTE = 60_000;
const BUDGET = 1_000_000;

/** Returns a world for records of type `bad` whose total size is 3.6 times the budget. */
function world(settings: WorldSettings): World {
  const { options, ...rest } = settings;
  return new World({
    partitions: 1,
    budgetBytes: BUDGET,
    ...rest,
    options: { batch: { maxRows: 2, maxBytes: 200_000 }, ...options },
  });
}

async function pour(it: World, instance: Instance): Promise<number> {
  let peak = 0;
  for (let round = 0; round < 30; round++) {
    for (let n = 0; n < 4; n++) {
      it.count();
      it.put(0, sourceValue({ type: 'bad', content: 'x'.repeat(30_000) }));
    }
    await it.clock.advance(1_500);
    peak = Math.max(peak, instance.budget.usedBytes);
  }
  return peak;
}

async function peakOver(it: World, instance: Instance, seconds: number): Promise<number> {
  let peak = 0;
  for (let second = 0; second < seconds; second++) {
    await it.clock.advance(1_000);
    peak = Math.max(peak, instance.budget.usedBytes);
  }
  return peak;
}

async function otherTypesGoOn(it: World): Promise<void> {
  it.event(0, 'good');
  it.count();
  await it.clock.advance(MINUTE);
  assert.ok(it.decisions().some(({ type }) => type === 'good'));
}

test('a type whose batches fail for hours keeps no content while it waits, and does not block other types', async () => {
  let failing = true;
  const it = world({
    options: {
      review: { pauseMs: 10 * MINUTE, pollMs: 30_000, attempts: 100 },
    },
    service: {
      review: ({ type }) => (type === 'bad' && failing ? { afterMs: MINUTE, state: 'failed' } : {}),
    },
  });
  const instance = it.start();
  await pour(it, instance);
  const peak = await peakOver(it, instance, 1_500);
  assert.ok(peak < BUDGET, `peak of ${peak} bytes, budget of ${BUDGET}`);
  assert.equal(instance.gauge('shards_paused', { reason: 'type_blocked' }), 1);
  await otherTypesGoOn(it);
  failing = false;
  await it.untilSettled(60 * MINUTE);
  it.assertExactlyOnce();
  await it.clock.advance(2_000);
  assert.deepEqual([instance.budget.usedBytes, instance.gauge('balance_items')], [0, 0]);
});

test('retries stay within the budget by waiting for earlier retries, however many records failed', async () => {
  // Every second batch fails, so the type never pauses. Then uploads hang.
  let hang = false;
  const it = world({
    service: {
      review: ({ id }) => ({
        afterMs: MINUTE,
        ...(Number(id.slice(6)) % 2 === 0 ? { state: 'failed' as const } : {}),
      }),
      fault: (operation) => (operation === 'upload' && hang ? { hangMs: MINUTE } : undefined),
    },
  });
  const instance = it.start();
  await pour(it, instance);
  hang = true;
  const peak = await peakOver(it, instance, 300);
  assert.ok(peak <= BUDGET, `peak of ${peak} bytes, budget of ${BUDGET}`);
  assert.ok(instance.budget.usedBytes > 0);
  hang = false;
  await it.untilSettled(60 * MINUTE);
  it.assertExactlyOnce();
});

test('a refused type keeps only coordinates, does not block other types, and is reread once it is accepted', async () => {
  let refuse = true;
  const it = world({
    service: {
      fault: (operation, _id, type) =>
        operation === 'create' && type === 'bad' && refuse ? { failure: 'rejected' } : undefined,
    },
  });
  const instance = it.start();
  const peak = await pour(it, instance);
  assert.ok(peak < BUDGET, `${peak}`);
  assert.ok(
    instance.budget.usedBytes < 100_000,
    `${instance.budget.usedBytes} bytes for 120 records of 30 KB`,
  );
  await it.clock.advance(10 * MINUTE);
  await otherTypesGoOn(it);
  assert.equal(instance.gauge('shards_paused', { reason: 'memory' }) ?? 0, 0);
  assert.equal(it.committed(0).offset, 0, 'the watermark stays before the waiting records');
  refuse = false;
  await it.untilSettled(10 * MINUTE);
  it.assertExactlyOnce();
  assert.equal(it.decisions().length, 121);
  await it.clock.advance(2_000);
  assert.deepEqual(
    [instance.budget.usedBytes, instance.gauge('balance_items'), instance.gauge('items_in_flight')],
    [0, 0, 0],
  );
});

test('a retry that cannot be created does not occupy memory that retries of other types need', async () => {
  let refuse = false;
  const it = world({
    options: { batch: { maxRows: 6, maxBytes: 200_000 } },
    service: {
      // Each type fails once. Afterwards batches of `bad` cannot be created.
      review: ({ id, type }) =>
        ['batch-1', 'batch-2'].includes(id)
          ? { state: 'failed', afterMs: type === 'bad' ? 100 : MINUTE }
          : {},
      fault: (operation, _id, type) =>
        operation === 'create' && type === 'bad' && refuse ? { failure: 'not_found' } : undefined,
    },
  });
  const instance = it.start();
  for (let n = 0; n < 6; n++) {
    it.put(0, sourceValue({ type: 'bad', content: 'x'.repeat(30_000) }));
    it.event(0, 'good');
  }
  await it.clock.runUntil(() => it.service.calls.upload === 2, MINUTE);
  refuse = true;
  await it.clock.advance(5 * MINUTE);
  assert.deepEqual(
    it.decisions().map(({ type }) => type),
    Array(6).fill('good'),
  );
  assert.equal(instance.gauge('shards_paused', { reason: 'memory' }) ?? 0, 0);
  refuse = false;
  await it.untilSettled(5 * MINUTE);
  it.assertExactlyOnce();
  await it.clock.advance(2_000);
  assert.equal(instance.budget.usedBytes, 0);
});

test('if the records of a probe are gone from the source, the next batch becomes the probe without another pause', async () => {
  let refuse = true;
  const it = world({
    options: { batch: { maxRows: 1 }, review: { pauseMs: 10 * MINUTE } },
    service: {
      fault: (operation) =>
        operation === 'create' && refuse ? { failure: 'rejected' } : undefined,
    },
  });
  it.start();
  await it.clock.advance(1_000);
  it.event(0);
  await it.clock.advance(1_000);
  it.event(0);
  await it.clock.advance(MINUTE);
  refuse = false;
  it.kafka.cluster.log('content', 0).deleteBefore(1);
  await it.clock.advance(10 * MINUTE);
  assert.deepEqual([it.published('dead').length, it.decisions().length], [1, 1]);
});

test('probes that wait for an unreadable partition do not start all at once when it is readable again', async () => {
  let unreadable = false;
  const it = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 }, review: { pauseMs: 10 * MINUTE } },
    service: {
      fault: (operation) => (operation === 'create' ? { failure: 'rejected' } : undefined),
    },
    hooks: { partitionFailure: () => (unreadable ? 'CORRUPT_MESSAGE' : undefined) },
  });
  it.start();
  for (let n = 0; n < 5; n++) it.event(0);
  await it.clock.advance(MINUTE);
  unreadable = true;
  await it.clock.advance(45 * MINUTE);
  const before = it.service.calls.create;
  unreadable = false;
  await it.clock.advance(11 * MINUTE);
  const probes = it.service.calls.create - before;
  assert.ok(probes >= 1 && probes <= 2, `${probes} probes within 11 minutes`);
});
