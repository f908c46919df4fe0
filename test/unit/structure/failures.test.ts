/** Checks that each row of the failure table has a test and names existing options. */
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
  'each unreadable offset becomes one dead letter with its coordinates, and the records around it are decided',
] as const;

/** Tests of events that require their own broker or the engine in memory. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, test: string]>> = {
  'upload address not allowed': [
    'test/unit/pipeline/stages/blocked.test.ts',
    'upload address not allowed: the records are submitted in new batches until the address is allowed',
  ],
  'download refused by the connector': [
    'test/unit/pipeline/stages/blocked.test.ts',
    'download refused by the connector: it is retried every five minutes, and no rows count as missing',
  ],
  'record batch that cannot be read': UNREADABLE,
  'record too large to be read': [
    'test/unit/kafka/records/bounds.test.ts',
    'is skipped without being kept, and its neighbours are read',
  ],
  'record with too many headers': UNREADABLE,
  'result files that settle nothing': [
    'test/unit/pipeline/stages/broken-results.test.ts',
    'the type pauses, no record fails, and all records are decided once the service recovers',
  ],
  'too many content types': [
    'test/unit/pipeline/limits/type-limit.test.ts',
    'too many content types: only the allowed number is submitted, types in use continue, and every record ends',
  ],
  'unexpected exception': [
    'test/unit/pipeline/context/internal-errors.test.ts',
    'a batch without any writable row ends in dead letters, and later records are submitted',
  ],
  'Kafka unreachable': [
    'test/integration/kafka/group-failures.test.ts',
    'reports the loss when the broker ends, and joins again when it is back',
  ],
  'Kafka refuses the login or the certificate': [
    'test/integration/kafka/security-login.suite.ts',
    'uses the current password of its file for new connections',
  ],
  'Kafka certificate expires': [
    'test/unit/kafka/security/tls-material.test.ts',
    'are logged once, two weeks before, and the metric has the earliest expiry',
  ],
  'right revoked at runtime': [
    'test/integration/kafka/security-rights.suite.ts',
    'creates its journal, settles every record, and waits while any of its rights is revoked',
  ],
};

test('each row of the failure table has a test whose name begins with its event, or a test elsewhere', () => {
  for (const { event } of FAILURE_TEXTS) {
    const elsewhere = ELSEWHERE[event];
    const proven =
      elsewhere === undefined
        ? NAMES.some((one) => one.startsWith(`${event}: `))
        : readFileSync(path.join(ROOT, elsewhere[0]), 'utf8').includes(elsewhere[1]);
    assert.ok(proven, `no test in test/integration/failures is named "${event}: …"`);
  }
});

test('each row of the failure table has its texts on the page', () => {
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
      const rows = [`| \`${name}\``, `| \`pipelines[].${option}\``];
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
