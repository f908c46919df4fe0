import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KafkaToken } from '../../../../src/kafka/security/options.ts';
import { SecurityError } from '../../../../src/kafka/security/security-error.ts';
import { TokenSource } from '../../../../src/kafka/security/token-source.ts';
import { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';

const MINUTE_MS = 60_000;

/** Returns a token source with its own clock and a scripted endpoint. */
function newSource(answer: (count: number) => Promise<KafkaToken> | KafkaToken) {
  const world = { nowMs: 0, requests: 0, waits: [] as number[] };
  const logger = new RecordingLogger();
  const source = new TokenSource({
    request: async () => await answer(++world.requests),
    logger,
    now: () => world.nowMs,
    random: () => 1,
    wait: async (ms) => void world.waits.push(ms),
  });
  return { source, world, logger };
}
const hourly = (count: number): KafkaToken => ({
  value: `token-${count}`,
  lifetimeMs: 60 * MINUTE_MS,
});
const away = () => new SecurityError('the endpoint is away', { retriable: true });

describe('the token for Kafka', () => {
  it('is requested once for concurrent callers', async () => {
    const { source, world } = newSource(hourly);
    assert.deepEqual(await Promise.all([source.token(), source.token()]), ['token-1', 'token-1']);
    world.nowMs = 47 * MINUTE_MS;
    assert.equal(await source.token(), 'token-1');
    assert.equal(world.requests, 1);
  });

  it('is replaced in the background after four fifths of its lifetime', async () => {
    const { source, world } = newSource(hourly);
    await source.token();
    world.nowMs = 49 * MINUTE_MS;
    assert.equal(await source.token(), 'token-1');
    await new Promise(setImmediate);
    assert.equal(await source.token(), 'token-2');
  });

  it('is used until it expires if it cannot be replaced, which is logged and not retried at each login', async () => {
    const { source, world, logger } = newSource((count) =>
      count === 1 ? hourly(count) : Promise.reject(away()),
    );
    await source.token();
    world.nowMs = 50 * MINUTE_MS;
    for (let login = 0; login < 5; login++) {
      assert.equal(await source.token(), 'token-1');
      await new Promise(setImmediate);
    }
    assert.equal(world.requests, 4, 'three attempts of one replacement');
    assert.deepEqual(
      logger.lines.map(({ level }) => level),
      ['warn'],
    );
    world.nowMs = 60 * MINUTE_MS;
    await assert.rejects(source.token(), /the endpoint is away/);
  });

  it('is not used in its last seconds', async () => {
    const { source, world } = newSource(hourly);
    await source.token();
    world.nowMs = 60 * MINUTE_MS - 9_000;
    assert.equal(await source.token(), 'token-2');
  });

  it('is requested up to three times with growing waits if the failure is transient', async () => {
    const { source, world } = newSource((count) =>
      count < 3 ? Promise.reject(away()) : hourly(count),
    );
    assert.equal(await source.token(), 'token-3');
    assert.deepEqual(world.waits, [250, 500]);
  });

  it('is replaced after the brokers have rejected it', async () => {
    const { source } = newSource(hourly);
    source.invalidate(await source.token());
    assert.equal(await source.token(), 'token-2');
    source.invalidate('token-1');
    assert.equal(await source.token(), 'token-2', 'the rejected token is an old one');
  });
});
