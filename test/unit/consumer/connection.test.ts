/** Log of a consumer. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { loggerOf } from '../../../src/consumer/connection.ts';

test('a log function that throws or rejects does not reach the consumer, and is reported once', async () => {
  for (const log of [
    () => {
      throw new Error('disk full');
    },
    async () => {
      throw new Error('disk full');
    },
  ]) {
    const warned = once(process, 'warning');
    const warnings: Error[] = [];
    const collect = (warning: Error) => void warnings.push(warning);
    process.on('warning', collect);
    const logger = loggerOf(log);
    for (const one of [logger, logger.child({ topic: 't' })]) one.warn({}, 'a line');
    await warned;
    await new Promise(setImmediate);
    process.off('warning', collect);
    assert.deepEqual(
      warnings.map(({ message }) => message),
      ['the log function of the consumer failed {"error":"disk full"}'],
    );
  }
});

test('a log function gets the fields of the logger and of the line, in order and at once', () => {
  const lines: unknown[] = [];
  const logger = loggerOf((...line) => void lines.push(line)).child({ topic: 't' });
  logger.info({ partition: 1 }, 'first');
  logger.error({}, 'second');
  assert.deepEqual(lines, [
    ['info', 'first', { topic: 't', partition: 1 }],
    ['error', 'second', { topic: 't' }],
  ]);
});
