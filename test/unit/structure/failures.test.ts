/** The failure table against its tests and the options that it names. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FAILURE_TABLE } from '../../../src/core/outcome/failure-table.ts';
import { METRICS } from '../../../src/telemetry/metrics/metric-list.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const NAMES = globSync('test/integration/failures/**/*.test.ts', { cwd: ROOT }).flatMap((file) =>
  [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(/^test\('([^']+)'/gm)].map(
    ([, name = '']) => name,
  ),
);

test('each row of the failure table has a test whose name begins with its event, or names the test that proves it', () => {
  for (const { event, provenBy } of FAILURE_TABLE) {
    const proven =
      provenBy === undefined
        ? NAMES.some((name) => name.startsWith(`${event}: `))
        : readFileSync(path.join(ROOT, provenBy.file), 'utf8').includes(`'${provenBy.test}'`);
    assert.ok(proven, `no test in test/integration/failures is named "${event}: …"`);
  }
});

test('each test of test/integration/failures says which row it proves', () => {
  const events = FAILURE_TABLE.map(({ event }) => event);
  assert.ok(NAMES.length >= events.length - 1);
  for (const name of NAMES) assert.ok(events.includes(name.split(': ')[0] ?? ''), name);
});

test('rows name options and metrics that exist', () => {
  const configuration = readFileSync(path.join(ROOT, 'docs/configuration.md'), 'utf8');
  for (const { event, options = [], user } of FAILURE_TABLE) {
    for (const option of options) {
      const [group = '', name = ''] = option.split('.');
      const section =
        configuration.split(`### \`pipelines[].${group}\``)[1]?.split('\n###')[0] ?? '';
      assert.ok(section.includes(`| \`${name}\` |`), `${event}: there is no option ${option}`);
    }
    for (const [, metric = ''] of user.matchAll(
      /`([a-z_]+(?:_total|_seconds|_limit|_lag|_paused))/g,
    )) {
      assert.ok(Object.hasOwn(METRICS, metric), `${event}: there is no metric ${metric}`);
    }
  }
});
