/** Unreadable source offsets (a damaged batch, a record above a limit), tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FetchedBatch, RecordPiece, ReserveMemory } from '../../../../src/core/ports/kafka.ts';
import type { Poison } from '../../../../src/core/record.ts';
import { audit } from '../../../../src/tools/inspect/audit.ts';
import { changed, fetchedThrough } from '../../../support/engine/changed.ts';
import { explain, inspectionOf } from '../../../support/engine/inspection.ts';
import { TOPICS, World, type WrapPorts } from '../../../support/engine/world.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';
import { headerOf } from '../../../support/records/headers.ts';

const MINUTE = 60_000;
const BATCH: Poison = {
  reason: 'unreadable_batch',
  message: 'the record batch at offset 2 cannot be read: its CRC-32C is wrong',
};
const HEADERS: Poison = {
  reason: 'too_many_headers',
  message: 'the record has 2000 headers, but at most 1000 are allowed',
};

const source = (world: World) => world.kafka.cluster.log(TOPICS.source, 0);
const letters = (world: World) =>
  world
    .published('dead')
    .map(
      (letter) =>
        [
          Number(headerOf(letter, 'dead-letter-offset')),
          headerOf(letter, 'dead-letter-reason'),
        ] as const,
    );

/** Writes `count` events to partition 0. */
function events(world: World, count: number): void {
  for (let n = 0; n < count; n++) world.event(0);
}

/** Returns a wrapper that rewrites the pieces of every source batch. */
const repieced = (
  pieces: (batch: FetchedBatch, reserve?: ReserveMemory) => AsyncIterable<RecordPiece>,
): WrapPorts =>
  fetchedThrough((batch, give) =>
    give(
      batch.stream === 'journal'
        ? batch
        : { ...batch, pieces: (reserve) => pieces(batch, reserve) },
    ),
  );

test('each unreadable offset becomes one dead letter with its coordinates, and the records around it are decided', async () => {
  const world = new World({ partitions: 2 });
  events(world, 10);
  world.put(0, 'not json');
  for (let n = 0; n < 4; n++) world.event(1);
  source(world).spoil(2, 5, BATCH);
  source(world).spoil(7, 8, HEADERS);
  const instance = world.start();
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    letters(world).toSorted(([a], [b]) => a - b),
    [
      [2, 'unreadable_batch'],
      [3, 'unreadable_batch'],
      [4, 'unreadable_batch'],
      [7, 'too_many_headers'],
      [10, 'not_json'],
    ],
  );
  const letter =
    world.published('dead').find((one) => headerOf(one, 'dead-letter-offset') === '3') ??
    assert.fail();
  assert.deepEqual([letter.key, letter.value], [null, null]);
  assert.deepEqual(
    ['stage', 'topic', 'partition', 'message'].map((name) =>
      headerOf(letter, `dead-letter-${name}`),
    ),
    ['decode', 'content', '0', BATCH.message],
  );
  assert.equal(headerOf(letter, 'event-id'), 'content-0-3');
  assert.equal(world.decisions().length, 10);
  assert.equal(world.committed(0).offset, 11);
  assert.equal(instance.metrics.counter('dead_lettered_total', { reason: 'unreadable_batch' }), 3);
  assert.equal(instance.metrics.counter('events_consumed_total'), 15);
  const told = instance.logger.lines.filter(({ message }) =>
    message.includes('unreadable records'),
  );
  assert.deepEqual(
    told.map(({ level, fields }) => [
      level,
      fields.partition,
      fields.from,
      fields.to,
      fields.reason,
    ]),
    [
      ['warn', 0, 2, 5, 'unreadable_batch'],
      ['warn', 0, 7, 8, 'too_many_headers'],
    ],
  );
});

test('a batch that has become readable does not look like a recreated topic', async () => {
  const world = new World({ partitions: 1 });
  for (let n = 0; n < 4; n++)
    world.put(0, sourceValue({ type: 'a', content: 'x' }), { timestampMs: 1_000 + n });
  source(world).spoil(1, 4, BATCH);
  const first = world.start();
  await world.untilSettled(MINUTE);
  await world.through(first.stop());
  for (const [offset, reason] of letters(world))
    assert.deepEqual([offset > 0, reason], [true, 'unreadable_batch']);
  source(world).spoil(1, 4, undefined);
  world.start();
  world.event(0);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});

test('an unreadable journal is refused with its topic, partition and offset, and its shard is not claimed', async () => {
  const world = new World({ partitions: 1 });
  events(world, 3);
  const first = world.start();
  await world.untilSettled(MINUTE);
  await world.through(first.stop());
  const journal = world.kafka.cluster.log(TOPICS.journal, 0);
  journal.spoil(2, 3, BATCH);
  const second = world.start();
  await world.clock.advance(MINUTE);
  assert.match(
    second.refused?.message ?? '',
    /the journal journal cannot be read at partition 0, offset 2: the record batch .* its CRC-32C is wrong/,
  );
  assert.equal(second.metrics.counter('claims_total', { outcome: 'owned' }), 0);
});

test('audit counts unreadable offsets as dead letters, and explain shows their dead letters', async () => {
  const world = new World({ partitions: 1 });
  events(world, 6);
  source(world).spoil(2, 4, BATCH);
  world.start();
  await world.untilSettled(MINUTE);
  const { verdict, totals } = await world.through(audit(inspectionOf(world)));
  assert.deepEqual(
    [verdict, totals.records, totals.decided, totals.deadLettered],
    ['balanced', 6, 4, 2],
  );
  const said = await explain(world, inspectionOf(world), { partition: 0, offset: 3 });
  assert.equal(said.state, 'deadLettered');
  assert.match(said.summary, /unreadable_batch/);
});

test('tools report the offsets of an output that they could not read', async () => {
  const world = new World({ partitions: 1 });
  events(world, 3);
  world.start();
  await world.untilSettled(MINUTE);
  const [log] = [0, 1]
    .map((partition) => world.kafka.cluster.log('decisions', partition))
    .filter(({ end }) => end > 0);
  log?.spoil(0, 1, BATCH);
  const notices: string[] = [];
  const inspection = { ...inspectionOf(world), notice: (text: string) => void notices.push(text) };
  const { totals } = await world.through(audit(inspection));
  assert.equal(totals.decided, 2);
  assert.ok(
    notices.some((text) => text.includes('offsets 0 to 0 cannot be read and are not counted')),
    notices.join('\n'),
  );
});

test('while memory is full at most one piece of a batch is decoded', async () => {
  let asked = 0;
  let down = true;
  const world = new World({
    partitions: 1,
    budgetBytes: 20_000,
    options: { batch: { maxRows: 10_000, maxAgeMs: 600_000 }, chunk: { maxBytes: 2_000 } },
    service: {
      fault: (operation) =>
        operation === 'create' && down ? { failure: 'unavailable' } : undefined,
    },
    wrap: repieced(async function* (batch, reserve) {
      for await (const { records, nextOffset } of batch.pieces(reserve)) {
        for (const record of records) {
          asked++;
          yield { records: [record], unreadable: undefined, nextOffset: record.offset + 1 };
        }
        yield { records: [], unreadable: undefined, nextOffset };
      }
    }),
  });
  const instance = world.start();
  for (let n = 0; n < 100; n++)
    world.put(0, sourceValue({ type: 'a', content: 'x'.repeat(1_000) }));
  await world.clock.advance(30_000);
  const taken = instance.metrics.counter('events_consumed_total');
  assert.ok(taken > 0 && taken < 50, `${taken} taken`);
  assert.equal(asked, taken + 1);
  down = false;
  await world.untilSettled(30 * MINUTE);
  world.assertExactlyOnce();
});

/** Wrapper that yields pieces of one record and overwrites each piece when the next piece is read. */
const overwritten = repieced(async function* (batch) {
  for await (const { records } of batch.pieces())
    for (const record of records) {
      const value = Buffer.from(record.value as Buffer);
      const nextOffset = record.offset + 1;
      yield { records: [{ ...record, value }], unreadable: undefined, nextOffset };
      value.fill('x');
    }
});

test('dead letters of many pieces are published in one transaction with their original records', async () => {
  const perCommit: number[] = [];
  const hooks = {
    batchRecords: () => 5,
    committed: () => void perCommit.push(world.published('dead').length),
  };
  const options = { chunk: { maxRows: 100, maxBytes: 100_000 } };
  const world = new World({ partitions: 1, wrap: overwritten, hooks, options });
  const texts = Array.from({ length: 5 }, (_, n) => `not json ${n}`);
  for (const text of texts) world.put(0, text);
  world.start();
  await world.untilSettled(MINUTE);
  assert.deepEqual(
    world
      .published('dead')
      .map(({ value }) => String(value))
      .sort(),
    texts,
  );
  assert.deepEqual(
    perCommit.filter((letters) => letters > 0 && letters < texts.length),
    [],
  );
});

test('large dead letters are published before the next piece is read', async () => {
  const published: number[] = [];
  const world = new World({
    partitions: 1,
    hooks: { batchRecords: () => 5 },
    options: { chunk: { maxRows: 100, maxBytes: 1_000_000 } },
    wrap: repieced(async function* (batch) {
      for await (const { records } of batch.pieces())
        for (const record of records) {
          published.push(world.published('dead').length);
          yield { records: [record], unreadable: undefined, nextOffset: record.offset + 1 };
        }
    }),
  });
  for (let n = 0; n < 5; n++) world.put(0, `not json${' '.repeat(150_000)}`);
  world.start();
  await world.untilSettled(MINUTE);
  assert.deepEqual(published, [0, 0, 2, 2, 4]);
});

/** Returns a wrapper whose pieces reserve memory, as the reader does for large records. */
const large = (bytes: number, log: (event: string) => void) =>
  repieced(async function* (batch, reserve) {
    try {
      for await (const piece of batch.pieces()) {
        await reserve?.(bytes);
        log('reserved');
        yield piece;
        log('taken');
      }
    } finally {
      log('ended');
    }
  });

test('a large record waits for memory before it is read, and the memory is released after intake', async () => {
  const said: string[] = [];
  const log = (event: string) => void said.push(`${event}: ${instance.budget.usedBytes}`);
  const world = new World({ partitions: 1, budgetBytes: 20_000, wrap: large(15_000, log) });
  const instance = world.start();
  const others = instance.budget.lease('intake', 14_000);
  events(world, 1);
  await world.clock.advance(MINUTE);
  assert.deepEqual(said, []);
  assert.equal(instance.gauge('shards_paused', { reason: 'memory' }), 1);
  others[Symbol.dispose]();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([said[0], said.length], ['reserved: 15000', 3]);
  assert.equal(instance.budget.usedBytes, 0);
});

test('while its schema loads, a large record keeps its memory until its owner stops, without blocking settling', async () => {
  const up = Promise.withResolvers<void>();
  const said: string[] = [];
  let down = true;
  const pieces = large(15_000, (event) => void said.push(event));
  const world = new World({
    partitions: 1,
    budgetBytes: 20_000,
    wrap: (ports, ...more) =>
      pieces(
        { ...ports, kind: changed(ports.kind, { prepare: () => (down ? up.promise : undefined) }) },
        ...more,
      ),
  });
  const first = world.start();
  events(world, 3);
  await world.clock.advance(MINUTE);
  assert.deepEqual(said, ['reserved']);
  assert.equal(first.gauge('shards_paused', { reason: 'schema_registry' }), 1);
  assert.equal(first.budget.usedBytes, 15_000);
  const work = await first.budget.reserve('work', 5_000, new AbortController().signal);
  work[Symbol.dispose]();
  const stopped = first.stop();
  down = false;
  up.resolve();
  await world.through(stopped);
  assert.deepEqual(said, ['reserved', 'ended']);
  assert.equal(first.budget.usedBytes, 0);
  world.start();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});
