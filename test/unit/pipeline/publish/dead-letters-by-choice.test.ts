/** Dead letters by choice: onRejectedType and onFailure. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../../src/core/outcome/service-error.ts';
import type { RecordPiece } from '../../../../src/core/ports/kafka.ts';
import type { SourceRecord } from '../../../../src/core/record.ts';
import { changed } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';
import { headerOf } from '../../../support/records/headers.ts';

const MINUTE = 60_000;

/** Creates of type `bad` are answered with this status, while `refuses` says so. */
function refusing(status: number, refuses: () => boolean, settings: WorldSettings = {}): World {
  return new World({
    partitions: 2,
    ...settings,
    options: {
      ...settings.options,
      review: { onRejectedType: 'dead-letter', ...settings.options?.review },
    },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        create: async (type, signal) => {
          if (type === 'bad' && refuses())
            throw new ServiceError('rejected', 'no such type', {
              operation: 'create_batch',
              status,
            });
          return ports.kind.create(type, signal);
        },
      }),
    }),
  });
}

const header = (record: SourceRecord, name: string) => headerOf(record, `dead-letter-${name}`);

test('its records become dead letters as they came, and other types are reviewed', async () => {
  for (const status of [400, 422]) {
    const world = refusing(status, () => true);
    const instance = world.start();
    world.put(0, sourceValue({ type: 'bad', content: 'the first' }), {
      key: 'k',
      headers: [['trace', 'abc']],
    });
    world.produce(39, { types: ['bad', 'good'] });
    await world.untilSettled(MINUTE);
    world.assertExactlyOnce();
    const dead = world.published('dead');
    assert.deepEqual([dead.length, world.decisions().length], [21, 19]);
    assert.ok(
      dead.every(
        (record) =>
          header(record, 'reason') === 'rejected_type' && header(record, 'stage') === 'create',
      ),
    );
    const first = dead.find(({ key }) => String(key) === 'k');
    assert.equal(String(first?.value), sourceValue({ type: 'bad', content: 'the first' }));
    assert.equal(headerOf(first ?? {}, 'trace'), 'abc');
    assert.equal(instance.metrics.counter('dead_lettered_total', { reason: 'rejected_type' }), 21);
    await world.clock.advance(2_000);
    assert.deepEqual([instance.gauge('balance_items'), instance.gauge('items_in_flight')], [0, 0]);
    assert.equal(instance.budget.usedBytes, 0);
    assert.ok(!/the first|event of/.test(instance.logger.text()), 'I6');
  }
});

test('a refusal that says nothing about the type (405) holds the records back, whatever the policy', async () => {
  let refuse = true;
  const world = refusing(405, () => refuse);
  const instance = world.start();
  world.produce(10, { types: ['bad'] });
  await world.clock.advance(MINUTE);
  assert.deepEqual(
    [world.published('dead').length, instance.gauge('shards_paused', { reason: 'type_blocked' })],
    [0, 1],
  );
  refuse = false;
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.decisions().length, 10);
});

test('a type that is refused for a retry ends the records of the job that they leave', async () => {
  let creates = 0;
  const world = refusing(400, () => ++creates > 1, {
    service: { review: () => ({ state: 'failed' }) },
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0, 'bad');
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.published('dead').length, 5);
  assert.deepEqual(world.liveJobs(), []);
});

test('an owner that is stopped between two chunks of dead letters leaves the rest to the next one', async () => {
  const world = refusing(400, () => true, {
    options: { batch: { maxRows: 20 }, chunk: { maxRows: 2 } },
  });
  world.start();
  world.produce(40, { types: ['bad'] });
  let interrupted = 0;
  for (let restart = 0; restart < 30; restart++) {
    await world.clock.runUntil(
      () => world.published('dead').length > restart || world.settled,
      30_000,
    );
    await world.through((world.instances.at(-1) ?? assert.fail()).stop());
    if (!world.settled) interrupted++;
    world.start();
  }
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.ok(interrupted > 3, `${interrupted} stops with dead letters still to come`);
  assert.equal(world.published('dead').length, 40);
});

test('records that retention took meanwhile end with their coordinates', async () => {
  const world = refusing(
    400,
    () => {
      world.kafka.cluster.log('content', 0).deleteBefore(3);
      return true;
    },
    { partitions: 1 },
  );
  world.start();
  for (let n = 0; n < 5; n++) world.event(0, 'bad');
  await world.untilSettled(MINUTE);
  assert.deepEqual(
    world
      .published('dead')
      .map((record) => [header(record, 'reason'), header(record, 'offset'), record.value === null]),
    [0, 1, 2, 3, 4].map((offset) => ['rejected_type', String(offset), offset < 3]),
  );
});

test('by choice records that nothing more is tried for become dead letters as they came, and all others are decided', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 8 }, review: { onFailure: 'dead-letter' } },
    service: {
      review: ({ rows }) => (rows?.some(({ offset }) => offset === 5) ? { state: 'failed' } : {}),
    },
  });
  const instance = world.start();
  for (let n = 0; n < 8; n++)
    world.put(0, sourceValue({ type: 'a', content: `text ${n}` }), { key: `k${n}` });
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  const [letter, ...more] = world.published('dead');
  assert.ok(letter !== undefined && more.length === 0);
  assert.equal(String(letter.key), 'k5');
  assert.equal(String(letter.value), sourceValue({ type: 'a', content: 'text 5' }));
  assert.deepEqual(
    [header(letter, 'reason'), header(letter, 'stage')],
    ['review_failed', 'rewind'],
  );
  assert.match(header(letter, 'message'), /\(batch_failed\)$/);
  assert.equal(world.decisions().length, 7);
  assert.equal(instance.metrics.counter('dead_lettered_total', { reason: 'review_failed' }), 1);
  await world.clock.advance(2_000);
  assert.deepEqual([instance.gauge('balance_items'), instance.budget.usedBytes], [0, 0]);
});

test('one pass at a time reads the records of all refused batches, and they go out in full transactions', async () => {
  const count = { now: 0, most: 0, records: 0 };
  let transactions = 0;
  const world = new World({
    partitions: 1,
    options: { review: { onRejectedType: 'dead-letter' }, chunk: { maxRows: 50 } },
    hooks: {
      commitFate: ({ transaction: { outputs = [] } }) => {
        transactions += outputs.length;
        return 'commit';
      },
    },
    service: {
      fault: (operation) => (operation === 'create' ? { failure: 'rejected' } : undefined),
    },
    wrap: (ports) => ({
      ...ports,
      reader: changed(ports.reader, {
        read: async (range, onPiece, signal) => {
          count.most = Math.max(count.most, ++count.now);
          const counted = async (piece: RecordPiece) => {
            count.records += piece.records.length;
            await ports.clock.sleep(50, signal);
            await onPiece(piece);
          };
          await ports.reader.read(range, counted, signal).finally(() => count.now--);
        },
      }),
    }),
  });
  const instance = world.start();
  // Each batch of five records spans two hundred.
  world.produce(2_000, { types: Array.from({ length: 40 }, (_, n) => `type ${n}`) });
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(count.most, 1);
  assert.ok(count.records <= 3 * 2_000, `${count.records} records read again for 2,000 letters`);
  assert.ok(
    transactions <= 200,
    `${transactions} transactions for 2,000 letters, 50 in each at the most`,
  );
  assert.equal(instance.budget.usedBytes, 0);
});
