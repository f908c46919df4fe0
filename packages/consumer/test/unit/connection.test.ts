/** Connection and log of a consumer. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { assertSecrecy, loggerOf } from '../../src/connection.ts';
import { consumeDecisions } from '../../src/consumer.ts';
import type { DecisionConsumerOptions } from '../../src/options.ts';

/** Returns the error of rejected options, or of the first attempt to reach a broker that does not exist. */
const refusalOf = async (options: Partial<DecisionConsumerOptions>): Promise<Error> => {
  const consuming = consumeDecisions({
    brokers: ['192.0.2.1:9092'],
    group: 'g',
    decisions: 'd',
    process: () => undefined,
    log: () => undefined,
    ...options,
  });
  return await consuming.then(
    () => assert.fail('it has joined'),
    (error: Error) => error,
  );
};

const PLAIN = { mechanism: 'plain', username: 'u', password: 'secret' } as const;
const LOGIN = { username: 'u', password: 'secret' };

test('no secret is sent unencrypted to another machine', async () => {
  const kafka = /^TypeError: sasl plain sends the password to 192\.0\.2\.1:9092 unencrypted: /;
  assert.match(String(await refusalOf({ sasl: PLAIN })), kafka);
  const mixed = ['127.0.0.1:9092', '192.0.2.1:9092'];
  assert.match(String(await refusalOf({ sasl: PLAIN, brokers: mixed })), kafka);
  const registry = /^TypeError: registry: http sends the credentials unencrypted: /;
  const url = 'http://registry.example:8081';
  assert.match(String(await refusalOf({ registry: { url, ...LOGIN } })), registry);
  assert.match(String(await refusalOf({ registry: { url, token: 't' } })), registry);
});

test('brokers and addresses that are invalid or contain a password are rejected', async () => {
  assert.match(
    String(await refusalOf({ brokers: ['[::1:9092'] })),
    /^TypeError: brokers: .*host:port/,
  );
  const user = 'https://user:secret@registry.example';
  for (const url of [user, 'registry.example:8081', 'no address'])
    assert.match(
      String(await refusalOf({ registry: { url } })),
      /^TypeError: registry\.url .* http:\/\/ or https:\/\//,
    );
});

test('secrets on this machine, over TLS, or with the opt-out, are accepted', () => {
  const accepted: Partial<DecisionConsumerOptions>[] = [
    { sasl: PLAIN, brokers: ['localhost:9092', '[::1]:9092'] },
    { sasl: PLAIN, tls: true },
    { sasl: { ...PLAIN, insecureWithoutTls: true } },
    { sasl: { ...PLAIN, mechanism: 'scram-sha-256' } },
    { registry: { url: 'http://127.0.0.1:8081', ...LOGIN } },
    { registry: { url: 'http://registry.example', insecureWithoutTls: true, ...LOGIN } },
    { registry: { url: 'http://registry.example' } },
    { registry: { url: 'https://registry.example', token: 't' } },
  ];
  for (const options of accepted) assertSecrecy({ brokers: ['192.0.2.1:9092'], ...options });
});

test('a log function that throws or rejects does not reach the consumer, and is reported', async () => {
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
    logger.child({ topic: 't' }).warn({}, 'a line');
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
