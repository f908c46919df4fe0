/** Rows of the failure table about the service as a whole: its key, load and outages. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { API_KEY, run } from './scenes.ts';

const NEW_KEY = 'sk-live-rotated-9Qw3Er5Ty7Ui';
const keyFile = path.join(temporaryDirectory(), 'service.key');
writeFileSync(keyFile, API_KEY);

const { scene, replica, sandbox } = await run(
  await testKafka(),
  {
    keyed: { faults: [{ operation: 'review', action: 'stuck', for: '500ms' }] },
    busy: {
      events: 40,
      faults: [
        { operation: 'create_batch', action: 'answer', status: 429, retryAfter: '1s', times: 3 },
        { operation: 'get_batch', action: 'answer', status: 503, times: 2 },
        {
          operation: 'upload',
          action: 'answer',
          status: 503,
          code: 'SlowDown',
          retryAfter: '1s',
          times: 2,
        },
        { operation: 'upload', action: 'reset_before' },
        { operation: 'create_batch', action: 'hang' },
      ],
    },
  },
  {
    config: {
      service: {
        apiKey: { file: keyFile },
        timeout: '1s',
        concurrency: { requests: 8, transfers: 4 },
      },
    },
  },
);

test('service overloaded or unreachable: calls are retried after the requested wait, and nothing is lost', async () => {
  const busy = scene('busy');
  await busy.endsWell();
  for (const [operation, reason] of [
    ['create_batch', '429'],
    ['create_batch', 'headers_timeout'],
    ['upload', '503'],
    ['upload', 'reset'],
  ] as const) {
    assert.ok(
      (await replica.metric('http_retries_total', { operation, reason })) >= 1,
      `${operation} ${reason}`,
    );
  }
  assert.ok(
    sandbox.faults.entries().every(({ type, fired, times }) => type !== 'busy' || fired === times),
  );
  assert.equal(await busy.metric('jobs_failed_total'), 0);
});

test('API key refused: the connector is not ready and loses nothing until the file has a new key, without a restart', async () => {
  const keyed = scene('keyed');
  sandbox.apiKeys.replace([NEW_KEY]);
  await keyed.write([keyed.event('under the old key'), keyed.event('too')]);
  const url = await replica.url();
  const said = await eventually(
    'the connector is not ready because of the key',
    async () => {
      const answer = await fetch(`${url}/readyz`);
      const text = await answer.text();
      return answer.status === 503 && /"api_key"[^}]*responded with 401/.test(text)
        ? text
        : undefined;
    },
    { deadlineMs: 60_000 },
  );
  assert.ok(!said.includes(API_KEY));
  await keyed.untilMetric('shards_paused', { reason: 'api_key' }, (value) => value >= 1);
  assert.equal((await fetch(`${url}/livez`)).status, 200);

  writeFileSync(keyFile, NEW_KEY);
  await keyed.endsWell();
  await eventually('the connector is ready again', async () => (await fetch(`${url}/readyz`)).ok);
  assert.equal(await keyed.metric('dead_lettered_total'), 0);
  assert.ok(!replica.lines.join('\n').includes(NEW_KEY));
  const reloads = replica.lines.filter((line) => line.includes('secret reloaded'));
  assert.equal(reloads.length, 1);
  assert.match(reloads[0] ?? '', /service\.apiKey/);
});
