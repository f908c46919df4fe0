/** Intake, sealing and creation of batches, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceRecord } from '../../../../src/core/record.ts';
import { changed } from '../../../support/engine/changed.ts';
import { World } from '../../../support/engine/world.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';
import { headerOf } from '../../../support/records/headers.ts';

const MINUTE = 60_000;
const EVENT = sourceValue({ type: 'a', content: 'x' });

/** Returns the creation times of batches in milliseconds since `fromMs`. */
const creations = (world: World, fromMs: number) =>
  [...world.service.batches.values()].map(({ createdMs }) => createdMs - fromMs);

test('a buffer is sealed at its maximum age even if no record arrives', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1000, maxAgeMs: 30_000 } },
  });
  world.start();
  await world.clock.advance(5_000);
  const fromMs = world.clock.now();
  world.event(0);
  await world.clock.advance(20_000);
  world.event(0);
  await world.clock.advance(9_999);
  assert.deepEqual(creations(world, fromMs), []);
  await world.clock.advance(1);
  assert.deepEqual(creations(world, fromMs), [30_000], 'the age counts from the oldest record');
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});

test('batches of a type with its own limits are sealed by these limits, other batches by the general limits', async () => {
  const types = { a: { maxAgeMs: 2_000 }, b: { maxRows: 2 } };
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1_000, maxAgeMs: 30_000, types } },
  });
  world.start();
  await world.clock.advance(5_000);
  const fromMs = world.clock.now();
  const put = (...sent: readonly string[]) => {
    for (const type of sent) world.put(0, sourceValue({ type, content: 'x' }));
  };
  put('a', 'b', 'c', 'constructor');
  await world.clock.advance(10_000);
  put('b');
  await world.clock.advance(25_000);
  assert.deepEqual(creations(world, fromMs), [2_000, 10_000, 30_000, 30_000]);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});

test('only the first batch of a shard after a start is small', async () => {
  const world = new World({
    partitions: 2,
    budgetBytes: 100_000_000,
    options: { batch: { maxRows: 1_000, maxAgeMs: 600_000 }, firstBatchRows: 100 },
  });
  world.start();
  world.produce(4_100);
  await world.clock.advance(5_000);
  const sizes = [...world.service.batches.values()].map(({ rows }) => rows?.length ?? 0);
  assert.deepEqual(sizes.slice(0, 2), [100, 100]);
  assert.ok(sizes.length > 2 && sizes.slice(2).every((size) => size === 1_000), `${sizes}`);
});

test('skipped records are counted, get no terminal record, and move the watermark', async () => {
  const world = new World({ partitions: 1 });
  const instance = world.start();
  for (let n = 0; n < 30; n++) world.put(0, sourceValue({ type: 'a', content: 'x', skip: true }));
  await world.clock.advance(15_000);
  assert.equal(instance.metrics.counter('events_skipped_total', { reason: 'filtered' }), 30);
  assert.equal(instance.metrics.counter('events_consumed_total'), 30);
  assert.deepEqual(
    [world.published('decisions'), world.published('dead'), world.service.batches.size],
    [[], [], 0],
  );
  assert.equal(world.committed(0).offset, 30);
  assert.equal(instance.gauge('balance_items'), 0);
});

test('records outside the sample are skipped and counted, but neither prepared nor decoded', async () => {
  const isOutsideSample = ({ offset }: SourceRecord) => offset % 3 !== 0;
  const inside = (record: SourceRecord) => assert.equal(isOutsideSample(record), false);
  const world = new World({
    partitions: 1,
    hooks: { batchRecords: () => 7 },
    wrap: (ports) => {
      const { kind } = ports;
      const decode: typeof kind.decode = (record, replay, again) =>
        isOutsideSample(record) ? { skip: 'sample' } : kind.decode(record, replay, again);
      const prepare = (records: readonly SourceRecord[]) => {
        for (const record of records) inside(record);
        return undefined;
      };
      const decodeCost = (record: SourceRecord) => {
        if (isOutsideSample(record)) costs++;
        return 0;
      };
      const changes = { isOutsideSample, decode, prepare, decodeCost };
      return { ...ports, kind: changed(kind, changes) };
    },
  });
  let costs = 0;
  const instance = world.start();
  for (let n = 0; n < 30; n++) world.put(0, n % 2 === 0 ? 'not JSON' : EVENT);
  await world.clock.advance(MINUTE);
  assert.equal(instance.metrics.counter('events_skipped_total', { reason: 'sample' }), 20);
  assert.equal(instance.metrics.counter('events_consumed_total'), 30);
  assert.deepEqual(
    [world.published('decisions').length, world.published('dead').length, costs],
    [5, 5, 0],
  );
  assert.equal(world.committed(0).offset, 30);
  assert.equal(instance.gauge('balance_items'), 0);
});

test('intake pauses at maxInFlight with a reason, and resumes when the watermark has moved', async () => {
  const world = new World({
    partitions: 1,
    options: {
      source: { maxInFlight: 20 },
      batch: { maxRows: 5, maxAgeMs: 1_000 },
      progressIntervalMs: 60 * MINUTE,
    },
    hooks: { batchRecords: () => 4 },
    service: {
      fault: (operation, _id, type) =>
        operation === 'create' && type === 'stuck' && stuck
          ? { failure: 'unavailable' }
          : undefined,
    },
  });
  let stuck = true;
  const instance = world.start();
  world.event(0, 'stuck');
  for (let n = 0; n < 100; n++) world.event(0, 'a');
  await world.clock.advance(MINUTE);
  assert.equal(instance.gauge('shards_paused', { reason: 'in_flight' }), 1);
  assert.equal(
    instance.metrics.counter('events_consumed_total'),
    24,
    'the limit is checked after a fetch: 20 and the records of the last fetch',
  );
  assert.equal(world.committed(0).offset, 0);
  assert.ok((instance.gauge('consumer_lag') ?? 0) > 70);
  stuck = false;
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  await world.clock.advance(2_000);
  assert.equal(instance.gauge('shards_paused', { reason: 'in_flight' }), 0);
});

test('records in live batches count against maxInFlight even after a restart, and intake resumes when they are settled', async () => {
  const world = new World({
    partitions: 2,
    options: { source: { maxInFlight: 20 }, batch: { maxRows: 5, maxAgeMs: 1_000 } },
    hooks: { batchRecords: () => 4 },
    service: { review: () => ({ afterMs: 'never' }) },
  });
  for (let n = 0; n < 1_000; n++) world.event(0);
  for (let n = 0; n < 10; n++) world.event(1);
  const submitted = () => {
    const rows = [...world.service.batches.values()].flatMap((batch) => batch.rows ?? []);
    return [0, 1].map((partition) => rows.filter((row) => row.partition === partition).length);
  };
  const first = world.start();
  await world.clock.advance(MINUTE);
  assert.deepEqual(
    submitted(),
    [24, 10],
    '20 and the records of the last fetch; the other partition has room',
  );
  assert.equal(first.gauge('shards_paused', { reason: 'in_flight' }), 1);
  await world.through(first.stop());

  const second = world.start();
  await world.clock.advance(MINUTE);
  assert.deepEqual(submitted(), [24, 10], 'records in the journal count from the first fetch on');
  assert.equal(second.gauge('shards_paused', { reason: 'in_flight' }), 1);
  world.service.script = {};
  for (const id of [...world.service.batches.keys()]) world.service.finish(id);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  await world.clock.advance(2_000);
  assert.equal(second.gauge('shards_paused', { reason: 'in_flight' }), 0);
});

test('skipped records alone do not pause a partition permanently, because the watermark is committed early', async () => {
  const world = new World({
    partitions: 1,
    options: { source: { maxInFlight: 20 } },
    hooks: { batchRecords: () => 10 },
  });
  world.start();
  for (let n = 0; n < 500; n++) world.put(0, sourceValue({ type: 'a', content: 'x', skip: true }));
  world.event(0);
  await world.clock.advance(3_000);
  assert.equal(world.decisions().length, 1, 'before the next periodic commit after ten seconds');
});

test('intake pauses when memory is full, seals the largest buffer to make room, and resumes', async () => {
  let down = true;
  const world = new World({
    partitions: 2,
    budgetBytes: 100_000,
    options: { batch: { maxRows: 10_000, maxAgeMs: 600_000 }, chunk: { maxBytes: 10_000 } },
    hooks: {
      batchRecords: (_member, stream) => {
        if (stream === 'source') fetches++;
        return 5;
      },
    },
    service: {
      fault: (operation) =>
        operation === 'create' && down ? { failure: 'unavailable' } : undefined,
    },
  });
  let fetches = 0;
  const instance = world.start();
  const content = 'x'.repeat(100);
  for (let n = 0; n < 1_000; n++) world.put(n % 2, sourceValue({ type: 'a', content }));
  await world.clock.advance(MINUTE);
  assert.ok((instance.gauge('shards_paused', { reason: 'memory' }) ?? 0) > 0);
  const used = instance.budget.usedBytes;
  assert.ok(
    used >= 70_000 && used < 80_000,
    `expected 70 % of the budget and one fetch, not ${used}`,
  );
  assert.ok(fetches < 150, `${fetches} of 200 fetches, although intake is paused`);
  down = false;
  await world.untilSettled(20 * MINUTE);
  world.assertExactlyOnce();
  await world.clock.advance(2_000);
  assert.deepEqual(
    [instance.gauge('shards_paused', { reason: 'memory' }), instance.budget.usedBytes],
    [0, 0],
  );
});

test('a hanging create does not block other batches from being journaled and settled', async () => {
  let hung = 0;
  const world = new World({
    partitions: 1,
    service: {
      fault: (operation, _id, type) =>
        operation === 'create' && type === 'slow' && hung++ === 0 ? { hangMs: 120_000 } : undefined,
    },
  });
  world.start();
  world.event(0, 'slow');
  for (let n = 0; n < 50; n++) world.event(0, 'a');
  await world.clock.advance(30_000);
  assert.equal(world.decisions().length, 50);
  assert.equal(world.committed(0).offset, 0, 'the watermark waits for the hanging batch');
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.submissions(0, 1), 1);
});

test('a dead letter that is too large for its topic omits its value, or all data except its coordinates', async () => {
  const world = new World({ partitions: 1 });
  const instance = world.start();
  world.put(0, 'small', { key: 'a' });
  // This record exceeds the limit only with the headers of a dead letter. Its value alone would fit.
  world.put(0, 'x'.repeat(970_000), { key: 'k', headers: [['big', 'h'.repeat(78_400)]] });
  world.put(0, 'small', { key: 'b' });
  // Compressed batches may contain records as large as this one.
  world.put(0, 'small', { key: 'k'.repeat(5_000_000) });
  world.put(0, 'small', { headers: [['h'.repeat(2_000_000), 'x']] });
  world.event(0);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  const letters = world
    .published('dead')
    .map(({ key, value, headers }) => [
      headerOf({ headers }, 'dead-letter-offset'),
      key && String(key),
      value && String(value),
    ]);
  assert.deepEqual(letters.toSorted(), [
    ['0', 'a', 'small'],
    ['1', 'k', null],
    ['2', 'b', 'small'],
    ['3', null, null],
    ['4', null, null],
  ]);
  assert.equal(instance.metrics.counter('claims_total', { outcome: 'owned' }), 1);
});

test('a buffered record keeps its age when its shard changes owners', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1000, maxAgeMs: 120_000 } },
  });
  const first = world.start();
  await world.clock.advance(2_000);
  const fromMs = world.clock.now();
  world.event(0);
  await world.clock.advance(60_000);
  await world.through(first.stop());
  world.start();
  await world.clock.advance(2 * MINUTE);
  assert.deepEqual(creations(world, fromMs), [120_000]);
});

test('a batch that waits for its upload uses the memory of its body, and none after the upload', async () => {
  let sent = 0;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 50 } },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        upload: (job, body, signal) => {
          sent = body.body.length;
          return ports.kind.upload(job, body, signal);
        },
      }),
    }),
    service: {
      fault: (operation) =>
        operation === 'upload' && down ? { failure: 'unavailable' } : undefined,
    },
  });
  let down = true;
  const { budget } = world.start();
  world.produce(50, { types: ['a'] });
  await world.clock.advance(5_000);
  assert.ok(sent > 1_000);
  assert.equal(budget.usedBytes, sent);
  down = false;
  await world.untilSettled(MINUTE);
  assert.equal(budget.usedBytes, 0);
});

test('records that are slow to decode yield to other work, even when they are reread', async () => {
  let spentMs = 0;
  const turns: number[] = [0];
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1_000, maxAgeMs: 60_000 } },
    wrap: (ports) => {
      const clock = {
        now: () => ports.clock.now() + spentMs,
        monotonic: () => ports.clock.monotonic() + spentMs,
        after: ports.clock.after.bind(ports.clock),
        sleep: (ms: number, signal?: AbortSignal) => {
          turns.push(0);
          return ports.clock.sleep(ms, signal);
        },
      };
      const decode: typeof ports.kind.decode = (record, replay, again) => {
        spentMs += record.offset % 3 === 0 ? 250 : 1;
        turns.push((turns.pop() ?? 0) + 1);
        return ports.kind.decode(record, replay, again);
      };
      return { ...ports, clock, kind: changed(ports.kind, { decode }) };
    },
    service: { review: () => (again++ > 0 ? {} : { state: 'failed' }) },
  });
  let again = 0;
  for (let n = 0; n < 60; n++) {
    if (n % 10 === 9) world.put(0, 'not json');
    else world.event(0);
  }
  const instance = world.start();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(instance.metrics.counter('events_consumed_total'), 60);
  assert.equal(
    turns.reduce((sum, records) => sum + records),
    60 + 54,
    'one batch failed and was reread',
  );
  // A turn decodes three records of a piece, and at a boundary up to three records of the next piece.
  assert.ok(Math.max(...turns) <= 6, `${turns}`);
  await world.clock.advance(2_000);
  assert.equal(instance.gauge('balance_items'), 0);
});
