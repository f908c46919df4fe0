import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { RegistryUnavailable, SchemaCache } from '../../../../src/events/registry/index.ts';
import { recordingObserver, registrySettings } from '../../../support/stack/registry.ts';

const { signal } = new AbortController();
/** Returns immediately. */
const sleep = async () => {};

test('an id is loaded once for all waiting callers', async () => {
  const answer = Promise.withResolvers<string>();
  const asked: number[] = [];
  const cache = new SchemaCache<string>((id) => {
    asked.push(id);
    return answer.promise;
  }, registrySettings([]));
  const both = [cache.ensure([1, 2], signal), cache.ensure([2, 1], signal)];
  assert.equal(cache.get(1), undefined);
  answer.resolve('schema');
  await Promise.all(both);
  assert.deepEqual(asked, [1, 2]);
  assert.deepEqual(cache.get(2), { schema: 'schema' });
  assert.equal(cache.ensure([1, 2], signal), undefined);
});

test('an unavailable registry is retried until it responds, and its recovery is reported once', async () => {
  const observer = recordingObserver();
  let failures = 3;
  const cache = new SchemaCache<string>(
    async () => {
      if (failures-- > 0) throw new RegistryUnavailable('503', 'the registry responded with 503');
      return 'schema';
    },
    registrySettings([], { observer }),
  );
  await cache.ensure([1], signal);
  assert.deepEqual(observer.calls, [
    ...Array(3).fill('unavailable: the registry responded with 503'),
    'available',
  ]);
  assert.deepEqual(cache.get(1), { schema: 'schema' });
});

test('an aborted caller returns at once, and the load that it started begins again for other callers', async () => {
  const loads: { readonly signal: AbortSignal; finish(schema: string): void }[] = [];
  const cache = new SchemaCache<string>((_, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    signal.addEventListener('abort', () => reject(signal.reason));
    loads.push({ signal, finish: resolve });
    return promise;
  }, registrySettings([]));
  const [first, second, third] = [1, 2, 3].map(() => new AbortController());
  const ensure = (caller: AbortController | undefined) =>
    cache.ensure([1], caller?.signal ?? signal) ?? Promise.resolve();
  const [one, two, three] = [ensure(first), ensure(second), ensure(third)];
  third?.abort(new Error('the third'));
  await assert.rejects(three, /the third/);
  assert.deepEqual([loads.length, loads[0]?.signal.aborted], [1, false]);
  first?.abort(new Error('the first'));
  await assert.rejects(one, /the first/);
  await new Promise(setImmediate);
  assert.equal(loads.length, 2);
  loads[1]?.finish('schema');
  await two;
  assert.deepEqual(cache.get(1), { schema: 'schema' });
});

test('an unknown id leads to dead letters and is looked up again after 5 s, as a registry may lag behind producers', async () => {
  let nowMs = 0;
  let known = false;
  const clock = { ...registrySettings([]).clock, monotonic: () => nowMs, sleep };
  const cache = new SchemaCache<string>(
    async () => (known ? 'schema' : undefined),
    registrySettings([], { clock }),
  );
  await cache.ensure([7], signal);
  assert.deepEqual(cache.get(7)?.poison, {
    reason: 'unknown_schema',
    message: 'the registry does not have the schema id 7',
  });
  known = true;
  nowMs = 4_999;
  assert.equal(cache.ensure([7], signal), undefined);
  nowMs = 5_000;
  await cache.ensure([7], signal);
  assert.deepEqual(cache.get(7), { schema: 'schema' });
});

test('an id is unknown after two lookups one second apart, even while new ids keep arriving', async () => {
  const slept: number[] = [];
  const asked: number[] = [];
  const clock = {
    ...registrySettings([]).clock,
    monotonic: () => 0,
    sleep: async (ms: number) => void slept.push(ms),
  };
  const cache = new SchemaCache<string>(
    async (id) => {
      asked.push(id);
      return id === 7 && slept.length > 0 ? 'schema' : undefined;
    },
    registrySettings([], { clock }),
  );
  await cache.ensure([7], signal);
  assert.deepEqual([cache.get(7), slept, asked], [{ schema: 'schema' }, [1_000], [7, 7]]);
  await cache.ensure(Array.from({ length: 1_000 }, (_, id) => 100 + id).values(), signal);
  assert.deepEqual(
    [cache.get(1_099)?.poison?.reason, slept.length, asked.length],
    ['unknown_schema', 40, 2 + 1_000 + 39],
  );
});

test('schemas that were not used recently are dropped if there are many, and recently used schemas are kept', async () => {
  let nowMs = 0;
  const clock = { ...registrySettings([]).clock, monotonic: () => nowMs, sleep };
  const cache = new SchemaCache<number>(async (id) => id, registrySettings([], { clock }));
  const ids = Array.from({ length: 2_000 }, (_, id) => id);
  await cache.ensure(ids, signal);
  nowMs = 10 * 60_000 + 1;
  await cache.ensure([0, 5_000], signal);
  assert.deepEqual(cache.get(0), { schema: 0 });
  assert.deepEqual(cache.get(5_000), { schema: 5_000 });
  assert.equal(cache.get(1), undefined);
});

test('an unknown id is kept while other ids of the same records are loading, however long that takes', async () => {
  let nowMs = 0;
  const clock = { ...registrySettings([]).clock, monotonic: () => nowMs, sleep };
  const slow = Promise.withResolvers<undefined>();
  const cache = new SchemaCache<number>(
    async (id) => (id === 3_000 ? slow.promise : undefined),
    registrySettings([], { clock }),
  );
  const both = cache.ensure(
    Array.from({ length: 3_001 }, (_, id) => id),
    signal,
  );
  for (let turns = 0; cache.get(2_999) === undefined && turns < 10_000; turns++) await turn();
  nowMs = 61_000;
  await cache.ensure([5_000], signal);
  assert.equal(cache.get(0)?.poison?.reason, 'unknown_schema');
  slow.resolve(undefined);
  await both;
  await cache.ensure([5_001], signal);
  assert.equal(cache.get(0), undefined);
});
