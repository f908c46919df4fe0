import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentProblems } from '../../../../src/telemetry/console/recent-problems.ts';
import { createLogger } from '../../../../src/telemetry/logger.ts';
import { assertSilent, CANARY } from '../../../support/stack/canary.ts';

function logged(level: 'silent' | 'error' = 'silent') {
  let nowMs = 0;
  const problems = new RecentProblems(() => ++nowMs);
  const logger = createLogger({
    level,
    sink: { write: () => undefined },
    onProblem: problems.add.bind(problems),
  });
  return { problems, logger };
}

test('warnings and errors are kept at any log level, newest first, and repetitions are counted', () => {
  const { problems, logger } = logged();
  logger.info({}, 'nothing');
  logger.warn({ try: 1 }, 'again');
  logger
    .child({ pipeline: 'p' })
    .error({ error: new Error('outer', { cause: new Error('inner') }), shard: 3 }, 'broken');
  logger.warn({ try: 2 }, 'again');
  assert.deepEqual(problems.list(), [
    {
      level: 'warn',
      message: 'again',
      reason: null,
      detail: 'try=2',
      pipeline: null,
      count: 2,
      firstMs: 1,
      lastMs: 3,
    },
    {
      level: 'error',
      message: 'broken',
      reason: null,
      detail: 'outer: inner  shard=3',
      pipeline: 'p',
      count: 1,
      firstMs: 2,
      lastMs: 2,
    },
  ]);
});

test('recent problems contain no keys, signatures or content', () => {
  const { problems, logger } = logged();
  const address = `https://storage.example/x?X-Amz-Signature=${CANARY.signature}`;
  logger.error(
    {
      content: CANARY.content,
      apiKey: CANARY.key,
      url: address,
      error: new Error(`PUT ${address}: 403`),
    },
    `failed: ${address}`,
  );
  logger.warn(
    { body: CANARY.content, headers: { 'x-api-key': CANARY.key } },
    `x-api-key: ${CANARY.key}`,
  );
  assert.equal(problems.list().length, 2);
  assertSilent(JSON.stringify(problems.list()), 'the problems');
});
