/** Decoding waits for schemas (KindSteps.prepare) of an unavailable registry. Tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceRecord } from '../../../../src/core/record.ts';
import { changed } from '../../../support/engine/changed.ts';
import { command } from '../../../support/engine/inspection.ts';
import { World } from '../../../support/engine/world.ts';
import { sourceKind } from '../../../support/memory/service/source-kind.ts';
import { headerOf } from '../../../support/records/headers.ts';

const MINUTE = 60_000;

/** A registry whose availability the test controls. Only prepared records can be decoded. */
class Registry {
  readonly prepared = new Set<string>();
  #up = Promise.withResolvers<void>();

  constructor({ up }: { up: boolean }) {
    if (up) this.#up.resolve();
  }

  back(): void {
    this.#up.resolve();
  }

  down(): void {
    this.#up = Promise.withResolvers<void>();
  }

  prepare(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> | undefined {
    if (records.every((record) => this.prepared.has(placeOf(record)))) return undefined;
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    );
    aborted.catch(() => undefined);
    return Promise.race([this.#up.promise, aborted]).then(() => {
      for (const record of records) this.prepared.add(placeOf(record));
    });
  }
}

const placeOf = ({ partition, offset }: { partition: number; offset: number }): string =>
  `${partition}:${offset}`;

function worldWith(registry: Registry, failing = false): World {
  return new World({
    partitions: 2,
    ...(failing
      ? {
          service: {
            review: ({ id }: { id: string }) =>
              id === 'batch-1' ? { afterMs: 10_000, state: 'failed' as const } : {},
          },
        }
      : {}),
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        prepare: (...given: Parameters<Registry['prepare']>) => registry.prepare(...given),
        decode: (...given: Parameters<typeof ports.kind.decode>) => {
          assert.ok(
            registry.prepared.has(placeOf(given[0])),
            'a record was decoded before it was prepared',
          );
          return ports.kind.decode(...given);
        },
      }),
    }),
  });
}

test('intake waits with a reason while schemas are unavailable, and loses nothing', async () => {
  const registry = new Registry({ up: false });
  const world = worldWith(registry);
  const instance = world.start();
  for (let n = 0; n < 20; n++) world.event(n % 2);
  await world.clock.advance(5 * MINUTE);
  assert.equal(world.service.batches.size, 0);
  assert.equal(world.published('dead').length, 0);
  assert.equal(instance.gauge('shards_paused', { reason: 'schema_registry' }), 2);
  registry.back();
  await world.untilSettled(2 * MINUTE);
  assert.equal(instance.gauge('shards_paused', { reason: 'schema_registry' }), 0);
  world.assertExactlyOnce();
});

test('a replica that waits for schemas can be stopped, and the next replica continues', async () => {
  const registry = new Registry({ up: false });
  const world = worldWith(registry);
  const first = world.start();
  for (let n = 0; n < 20; n++) world.event(n % 2);
  await world.clock.advance(MINUTE);
  await world.through(first.stop());
  registry.back();
  world.start();
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
});

test('reread records wait for their schemas', async () => {
  const registry = new Registry({ up: true });
  const world = worldWith(registry, true);
  const instance = world.start();
  for (let n = 0; n < 20; n++) world.event(0);
  await world.clock.advance(5_000);
  registry.down();
  registry.prepared.clear();
  await world.clock.advance(5 * MINUTE);
  assert.equal(world.decisions().length, 15, 'the records of the other batches');
  assert.equal(instance.gauge('shards_paused', { reason: 'schema_registry' }), 1);
  assert.equal(instance.budget.usedBytes, 0, 'other pipelines may need the memory');
  registry.back();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

test('records that are settled from the source wait for their schemas', async () => {
  const registry = new Registry({ up: true });
  const world = new World({
    partitions: 1,
    service: { review: () => ({ afterMs: 10_000 }) },
    wrap: (ports) => ({
      ...ports,
      kind: sourceKind(
        changed(ports.kind, {
          prepare: (...given: Parameters<Registry['prepare']>) => registry.prepare(...given),
        }),
      ),
    }),
  });
  const instance = world.start();
  for (let n = 0; n < 20; n++) world.event(0);
  await world.clock.advance(5_000);
  registry.down();
  registry.prepared.clear();
  await world.clock.advance(5 * MINUTE);
  assert.deepEqual(
    [world.decisions().length, instance.gauge('shards_paused', { reason: 'schema_registry' })],
    [0, 1],
  );
  assert.equal(instance.budget.usedBytes, 0);
  registry.back();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

for (const [stage, filed] of [
  ['rewind', true],
  ['settle', false],
] as const) {
  test(`records whose schema was deleted while they were in a job become dead letters at ${stage}, and other records continue`, async () => {
    let readings = 0;
    let deleted = false;
    const world = new World({
      partitions: 1,
      options: { batch: { maxRows: 6, maxAgeMs: 2_000 } },
      service: {
        review: ({ id }) =>
          id === 'batch-1' ? { afterMs: 10_000, state: filed ? 'failed' : 'finished' } : {},
      },
      wrap: (ports) => {
        const kind = changed(ports.kind, {
          decode: (...given: Parameters<typeof ports.kind.decode>) => {
            const [{ offset }] = given;
            if (!deleted || offset % 2 === 0) return ports.kind.decode(...given);
            readings++;
            return {
              poison: {
                reason: 'unknown_schema',
                message: 'the registry does not have the schema id 7',
              },
            };
          },
        });
        return { ...ports, kind: filed ? kind : sourceKind(kind) };
      },
    });
    const instance = world.start();
    for (let n = 0; n < 6; n++) world.event(0);
    await world.clock.advance(5_000);
    assert.equal(world.liveJobs().length, 1);
    deleted = true;
    await world.untilSettled(5 * MINUTE);
    world.assertExactlyOnce();
    const letters = world.published('dead').map(({ headers }) => {
      const said = (name: string) => headerOf({ headers }, `dead-letter-${name}`);
      return [said('offset'), said('reason'), said('stage')];
    });
    assert.deepEqual(
      letters.sort(),
      ['1', '3', '5'].map((offset) => [offset, 'unknown_schema', stage]),
    );
    assert.deepEqual(
      world
        .decisions()
        .map(({ offset }) => offset)
        .sort(),
      [0, 2, 4],
    );
    assert.equal(readings, 3, 'each is decoded only once more');
    assert.equal(instance.budget.usedBytes, 0);
    assert.equal(instance.gauge('balance_items', {}) ?? 0, 0);
  });
}

test('memory for a costly record is reserved before decoding, and schemas that were dropped during the wait are loaded again', async () => {
  const loaded = new Set<number>();
  const loads: number[] = [];
  const world = new World({
    partitions: 1,
    budgetBytes: 20_000,
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        decodeCost: ({ offset }) => (offset % 5 === 0 ? 10_000_000 : 0),
        prepare: (records) => {
          const missing = records.filter(({ offset }) => !loaded.has(offset));
          if (missing.length === 0) return undefined;
          loads.push(missing.length);
          return Promise.resolve().then(() => {
            for (const { offset } of missing) loaded.add(offset);
          });
        },
        decode: (...given: Parameters<typeof ports.kind.decode>) => {
          assert.ok(loaded.has(given[0].offset), 'a record was decoded before it was prepared');
          const isReserved = instance.budget.usedBytes >= 10_000_000;
          assert.equal(isReserved, given[0].offset % 5 === 0, 'memory for costly records');
          return ports.kind.decode(...given);
        },
      }),
    }),
  });
  const instance = world.start();
  const settling = instance.budget.lease('work', 10_000);
  for (let n = 0; n < 10; n++) world.event(0);
  await world.clock.advance(MINUTE);
  assert.equal(instance.gauge('shards_paused', { reason: 'memory' }), 1);
  loaded.clear();
  settling[Symbol.dispose]();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(loads, [1, 1, 9]);
});

test('memory for a costly record is reserved when it is reread, and released', async () => {
  const reserved: boolean[] = [];
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 4 } },
    service: { review: ({ id }) => (id === 'batch-1' ? { state: 'failed' } : {}) },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        decodeCost: ({ offset }) => (offset === 2 ? 10_000_000 : 1_000),
        decode: (...given: Parameters<typeof ports.kind.decode>) => {
          if (given[2] !== undefined) reserved.push(instance.budget.usedBytes >= 10_000_000);
          return ports.kind.decode(...given);
        },
      }),
    }),
  });
  const instance = world.start();
  for (let n = 0; n < 4; n++) world.event(0);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(reserved, [false, false, true, false]);
  assert.equal(instance.budget.usedBytes, 0);
});

test('a fetched record is dropped when the pipeline is paused, and its memory is released', async () => {
  const registry = new Registry({ up: false });
  const world = worldWith(registry);
  const instance = world.start();
  for (let n = 0; n < 4; n++) world.event(0);
  await world.clock.advance(MINUTE);
  assert.ok(instance.budget.usedBytes > 0);
  await command(world, 'pause');
  registry.back();
  await world.clock.advance(MINUTE);
  assert.deepEqual([instance.budget.usedBytes, world.service.batches.size], [0, 0]);
  await command(world, 'resume');
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
});
