/** Every difference of two valid configurations is applied or requires a restart, and the result is valid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { orUndefined } from '../../../packages/client/src/base/result.ts';
import { changesOf } from '../../../src/config/changes.ts';
import { crossChecks } from '../../../src/config/cross-checks.ts';
import { effectiveOptions } from '../../../src/config/effective.ts';
import { parseConfig } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/schema.ts';

const some = <T>(...values: readonly T[]) => fc.constantFrom(undefined, ...values);
const lane = fc.record({ types: fc.constantFrom(['x'], ['y']), share: fc.constantFrom(0.1, 0.4) });
const pipeline = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  source: fc.record({ topic: fc.constantFrom('t', 'u'), maxContent: some('1MiB') }),
  batch: fc.record({
    maxBytes: some('2MiB', '60MiB'),
    maxAge: some('1m', '60s'),
  }),
  lanes: fc.dictionary(fc.constantFrom('live', 'bulk'), lane),
  quota: some({ rowsPerDay: 9 }, { rowsPerDay: 7 }, { callsPerSecond: 5 }),
});
const config = fc
  .record({
    kafka: fc.record({ brokers: fc.constantFrom('b:1', 'c:1'), clientId: some('other') }),
    service: fc.record({ baseUrl: fc.constant('https://s'), apiKey: fc.constantFrom('1x', '2x') }),
    pipelines: fc.array(pipeline, { minLength: 1, maxLength: 2 }),
    memory: fc.record({ budget: some('16MiB', '200MiB') }),
    log: fc.record({ level: some('debug', 'silent') }),
  })
  .map((document) => {
    const origin = { file: 'f', directory: '/nowhere' };
    return orUndefined(() => parseConfig(stringify(document), {}, origin));
  })
  .filter((parsed) => parsed !== undefined);

/** Returns the names of options whose shown values differ. The only secret is revealed. */
function differing(one: Config, other: Config): string[] {
  const [a, b] = [one, other].map((of) => {
    const shown = effectiveOptions(of).map(({ path, value }) => [path, value] as const);
    return new Map([...shown, ['service.apiKey', of.service?.apiKey.reveal() ?? '']]);
  }) as [Map<string, string>, Map<string, string>];
  return [...new Set([...a.keys(), ...b.keys()])].filter((path) => a.get(path) !== b.get(path));
}

test('applied changes and required restarts partition the differences, and the applied ones form a valid configuration', () => {
  let applicable = 0;
  fc.assert(
    fc.property(config, config, (running, next) => {
      const { config: merged, applied, restart } = changesOf(running, next);
      const paths = applied.map(({ path }) => path);
      const parts = [...paths, ...restart];
      const all = differing(running, next);
      const partsOf = (path: string) =>
        parts.filter((part) => path === part || /^[.[]/.test(path.replace(part, '')));
      for (const path of all) assert.equal(partsOf(path).length, 1, path);
      assert.deepEqual(new Set(all.flatMap(partsOf)), new Set(parts));
      assert.deepEqual(differing(running, merged).toSorted(), paths.toSorted());
      assert.deepEqual(crossChecks(merged), []);
      const again = changesOf(merged, next);
      assert.deepEqual([again.applied, again.restart.toSorted()], [[], restart.toSorted()]);
      applicable += paths.length;
    }),
    { numRuns: 60 },
  );
  assert.ok(applicable > 10, `only ${applicable} applicable changes`);
});
