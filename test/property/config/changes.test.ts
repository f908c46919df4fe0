/** Every difference of two valid configurations is applied or requires a restart, and the result is valid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { changesOf } from '../../../src/config/changes.ts';
import { crossChecks } from '../../../src/config/cross-checks.ts';
import { effectiveOptions } from '../../../src/config/effective.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { ConfigError } from '../../../src/config/load/problem.ts';
import type { Config } from '../../../src/config/schema.ts';

const some = <T>(...values: readonly T[]) =>
  fc.option(fc.constantFrom(...values), { nil: undefined });
const lane = fc.record({
  types: fc.constantFrom(['x'], ['y']),
  when: some('urgent'),
  share: fc.constantFrom(0.1, 0.4),
});

const pipeline = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  source: fc.record({
    topic: fc.constantFrom('t', 'u'),
    maxContent: some('1MiB', '2MiB'),
    maxInFlight: some(9_000),
  }),
  batch: fc.record({
    maxRows: some(7, 8),
    maxBytes: some('2MiB', '20MiB', '60MiB'),
    maxAge: some('1m', '60s'),
    types: some({ x: { maxRows: 1 } }, { x: { maxBytes: '3MiB' } }),
  }),
  lanes: fc.option(fc.dictionary(fc.constantFrom('live', 'bulk'), lane), { nil: undefined }),
  quota: some({ rowsPerDay: 9 }, { rowsPerDay: 7 }, { callsPerSecond: 5 }),
  objective: fc.record({ age: some('2h'), share: some(0.9) }),
});

const config = fc
  .record({
    kafka: fc.record({ brokers: fc.constantFrom(['b:1'], ['c:1']), clientId: some('other') }),
    service: fc.record({
      baseUrl: fc.constant('https://s'),
      apiKey: fc.constantFrom('one', 'two', { env: 'KEY' }),
    }),
    pipelines: fc.uniqueArray(pipeline, {
      selector: ({ name }) => name,
      minLength: 1,
      maxLength: 2,
    }),
    memory: fc.record({ budget: some('16MiB', '200MiB') }),
    log: fc.record({ level: some('debug', 'silent') }),
  })
  .map((document) => {
    try {
      const origin = { file: 'f', directory: '/nowhere' };
      return parseConfig(stringify(document), { KEY: 'one' }, origin);
    } catch (error) {
      if (error instanceof ConfigError) return undefined;
      throw error;
    }
  })
  .filter((parsed) => parsed !== undefined);

/** Values by option. Secrets are revealed, because they must not be compared by their masks. */
function valuesOf(of: Config): ReadonlyMap<string, string> {
  const shown = effectiveOptions(of).map(({ path, value }) => [path, value] as const);
  return new Map([...shown, ['service.apiKey', of.service?.apiKey.reveal() ?? '']]);
}

function differing(one: Config, other: Config): string[] {
  const [a, b] = [valuesOf(one), valuesOf(other)];
  return [...new Set([...a.keys(), ...b.keys()])].filter((path) => a.get(path) !== b.get(path));
}

const covers = (entry: string, path: string) =>
  path === entry || path.startsWith(`${entry}.`) || path.startsWith(`${entry}[`);

test('applied changes and required restarts partition the differences, and the applied ones form a valid configuration', () => {
  let appliedOnce = 0;
  fc.assert(
    fc.property(config, config, (running, next) => {
      const { config: merged, applied, restart } = changesOf(running, next);
      const paths = applied.map(({ path }) => path);
      const all = differing(running, next);
      for (const path of all) {
        const reasons = [...paths, ...restart].filter((entry) => covers(entry, path));
        assert.equal(reasons.length, 1, `${path}: ${reasons}`);
      }
      for (const entry of restart)
        assert.ok(
          all.some((path) => covers(entry, path)) || entry === 'service.apiKey',
          `${entry} does not differ`,
        );
      assert.deepEqual(differing(running, merged).toSorted(), paths.toSorted());
      assert.deepEqual(crossChecks(merged), []);
      const again = changesOf(merged, next);
      assert.deepEqual([again.applied, again.restart.toSorted()], [[], restart.toSorted()]);
      if (paths.length > 0) appliedOnce++;
    }),
    { numRuns: 60 },
  );
  assert.ok(appliedOnce > 5, 'the configurations have applicable differences');
});
