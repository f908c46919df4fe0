/** The failure table against its tests and the options that it names. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FAILURE_TEXTS } from '../../../dev/docs/failure-texts.ts';
import { FAILURE_TABLE } from '../../../src/core/outcome/failure-table.ts';
import { METRICS } from '../../../src/telemetry/metric-list.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const NAMES = globSync('test/integration/failures/**/*.test.ts', { cwd: ROOT }).flatMap((file) =>
  [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(/^test\('([^']+)'/gm)].map(
    ([, name = '']) => name,
  ),
);

const UNREADABLE = [
  'test/unit/pipeline/stages/unreadable.test.ts',
  'each offset that cannot be read becomes one dead letter by its coordinates, in order, and the records around it are decided',
] as const;

/** Events that need a broker of their own, or the engine in memory: the tests that prove them. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, test: string]>> = {
  'upload address not allowed': [
    'test/unit/pipeline/stages/blocked.test.ts',
    'upload address not allowed: the records go into new batches until the address is allowed, and none is given up',
  ],
  'download refused by the connector': [
    'test/unit/pipeline/stages/blocked.test.ts',
    'download refused by the connector: it is tried again every five minutes, and rows never count as missing',
  ],
  'record batch that cannot be read': UNREADABLE,
  'record too large to be read': [
    'test/unit/kafka/records/bounds.test.ts',
    'is passed without being kept, and those beside it are read',
  ],
  'record with too many headers': UNREADABLE,
  'result files that settle nothing': [
    'test/unit/pipeline/stages/broken-results.test.ts',
    'the type pauses, nothing is given up, and all is decided once the service is well',
  ],
  'too many content types': [
    'test/unit/pipeline/limits/type-limit.test.ts',
    'too many content types: the service gets batches of as many as allowed, types in use continue, and every record ends',
  ],
  'unexpected exception': [
    'test/unit/pipeline/context/internal-errors.test.ts',
    'records of which none can be written as a row end as dead letters, and what comes later is submitted',
  ],
  'Kafka unreachable': [
    'test/integration/kafka/group-failures.test.ts',
    'is told of the loss when the broker goes, and comes back with it',
  ],
  'Kafka refuses the login or the certificate': [
    'test/integration/kafka/security-login.suite.ts',
    'uses the password that its file has by then, for new connections',
  ],
  'Kafka certificate expires': [
    'test/unit/kafka/security/tls-material.test.ts',
    'are told two weeks before, once each, and the first end is what the metric has',
  ],
  'right revoked at runtime': [
    'test/integration/kafka/security-rights.suite.ts',
    'makes its journal, moves every record, waits while a right is taken away, and loses nothing',
  ],
};

test('each row of the failure table has a test whose name begins with its event, or is proven elsewhere', () => {
  for (const { event } of FAILURE_TEXTS) {
    const elsewhere = ELSEWHERE[event];
    const proven =
      elsewhere === undefined
        ? NAMES.some((one) => one.startsWith(`${event}: `))
        : readFileSync(path.join(ROOT, elsewhere[0]), 'utf8').includes(elsewhere[1]);
    assert.ok(proven, `no test in test/integration/failures is named "${event}: …"`);
  }
});

test('each row of the engine has its texts on the page', () => {
  const events = FAILURE_TEXTS.map(({ event }) => event);
  assert.equal(new Set(events).size, events.length);
  for (const { event } of FAILURE_TABLE)
    assert.ok(events.includes(event), `${event}: add its texts to dev/docs/failure-texts.ts`);
});

test('rows name options and metrics that exist', () => {
  const configuration = readFileSync(path.join(ROOT, 'docs/configuration.md'), 'utf8');
  for (const { event, options = [], user = '' } of FAILURE_TEXTS) {
    for (const option of options) {
      const [group = '', name = ''] = option.split('.');
      const section =
        configuration.split(`### \`pipelines[].${group}\``)[1]?.split('\n###')[0] ?? '';
      const rows = [`| \`${name}\` |`, `| \`pipelines[].${option}\` |`];
      assert.ok(
        section.includes(rows[0] ?? '') || configuration.includes(rows[1] ?? ''),
        `${event}: there is no option ${option}`,
      );
    }
    for (const [, metric = ''] of user.matchAll(
      /`([a-z_]+(?:_total|_seconds|_limit|_lag|_paused))/g,
    )) {
      assert.ok(Object.hasOwn(METRICS, metric), `${event}: there is no metric ${metric}`);
    }
  }
});
