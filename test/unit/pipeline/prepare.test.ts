/** Decoding waits for what it needs (KindSteps.prepare): a schema registry that is down. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceRecord } from '../../../src/core/record.ts';
import { changed } from '../../support/engine/changed.ts';
import { World } from '../../support/engine/world.ts';

const MINUTE = 60_000;

/** A registry that answers when it is told to. Records that were not prepared cannot be decoded. */
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

  prepare(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> {
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    );
    aborted.catch(() => undefined);
    return Promise.race([this.#up.promise, aborted]).then(() => {
      for (const record of records) this.prepared.add(placeOf(record));
    });
  }
}

const placeOf = ({ partition, offset }: { partition: number; offset: number }): string => `${partition}:${offset}`;

function worldWith(registry: Registry, failing = false): World {
  return new World({
    partitions: 2,
    ...(failing
      ? {
          service: {
            review: ({ id }: { id: string }) => (id === 'batch-1' ? { afterMs: 10_000, state: 'failed' as const } : {}),
          },
        }
      : {}),
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        prepare: (...given: Parameters<Registry['prepare']>) => registry.prepare(...given),
        decode: (...given: Parameters<typeof ports.kind.decode>) => {
          assert.ok(registry.prepared.has(placeOf(given[0])), 'decoded before it was prepared');
          return ports.kind.decode(...given);
        },
      }),
    }),
  });
}

test('intake waits, and says why, while the schemas of its records cannot be had; nothing is lost', async () => {
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

test('a replica that waits for schemas stops all the same, and the next one goes on', async () => {
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

test('records that are read again wait for their schemas too', async () => {
  const registry = new Registry({ up: true });
  const world = worldWith(registry, true);
  const instance = world.start();
  for (let n = 0; n < 20; n++) world.event(0);
  await world.clock.advance(5_000);
  registry.down();
  registry.prepared.clear();
  await world.clock.advance(5 * MINUTE);
  assert.equal(world.decisions().length, 15, 'those of the other batches');
  assert.equal(instance.gauge('shards_paused', { reason: 'schema_registry' }), 1);
  registry.back();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});
