import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { ClusterConnection } from '../../../src/kafka/cluster-connection.ts';
import { internal } from '../../../src/kafka/kafkajs/internals.ts';
import { RecordingLogger } from '../../support/memory/telemetry/recording-telemetry.ts';

const { prototype: cluster } = internal<{ prototype: object }>('cluster/index.js');

const transient = (message: string) => Object.assign(new Error(message), { retriable: true });
const refused = Object.assign(new Error('no'), { type: 'TOPIC_AUTHORIZATION_FAILED' });

describe('a request to the cluster', () => {
  const calls: string[] = [];
  beforeEach(() => {
    calls.length = 0;
    Object.assign(cluster, {
      connect: async () => {},
      refreshMetadata: async () => void calls.push('refresh'),
      disconnect: async () => void calls.push('disconnect'),
    });
  });
  const connection = (patienceMs?: number) =>
    new ClusterConnection({ brokers: ['b:1'], clientId: 'c' }, new RecordingLogger(), patienceMs);

  it('is repeated with newer metadata while its failure is transient, and reports the failure', async () => {
    const one = connection();
    const failures: (string | undefined)[] = [];
    const answer = await one.request('try', {}, async () => {
      failures.push(one.lastFailure);
      if (failures.length < 3) throw transient(`failure ${failures.length}`);
      return 'answer';
    });
    assert.equal(answer, 'answer');
    assert.deepEqual(failures, [undefined, 'cannot try: failure 1', 'cannot try: failure 2']);
    assert.equal(one.lastFailure, undefined);
    assert.deepEqual(calls, ['refresh', 'refresh']);
    await one.close();
  });

  it('is repeated although its first attempt took longer than the time limit', async () => {
    const one = connection(20);
    let attempts = 0;
    const answer = one.request('try', {}, async () => {
      if (++attempts > 1) return 'answer';
      await new Promise((resolve) => setTimeout(resolve, 40));
      throw transient('half-open');
    });
    assert.equal(await answer, 'answer');
    await one.close();
  });

  it('fails with its name, the cause and the remedy if its failure is permanent or lasts too long', async () => {
    const one = connection(20);
    const access = { operation: 'WRITE', topic: 'out' };
    await assert.rejects(
      one.request('write', access, () => Promise.reject(refused)),
      /^Error: cannot write: TOPIC_AUTHORIZATION_FAILED: no; grant WRITE on topic out to/,
    );
    assert.deepEqual(calls, ['disconnect'], 'the next request has a new connection');
    await assert.rejects(
      one.request('list', {}, () => Promise.reject(transient('away'))),
      /^Error: cannot list: away$/,
    );
    await one.close();
  });

  it('that fails permanently does not interrupt another request in flight', async () => {
    const one = connection();
    const other = Promise.withResolvers<string>();
    const inFlight = one.request('wait', {}, () => other.promise);
    await assert.rejects(one.request('fail', {}, () => Promise.reject(refused)));
    assert.deepEqual(calls, []);
    other.resolve('answered');
    assert.equal(await inFlight, 'answered');
    await new Promise(setImmediate);
    assert.deepEqual(calls, ['disconnect']);
    await one.close();
  });

  it('ends with the reason of its signal, and is refused after the connection was closed', async () => {
    const one = connection();
    const ended = new AbortController();
    const retried = one.request('try', {}, () => Promise.reject(transient('away')), {
      signal: ended.signal,
    });
    ended.abort(new Error('enough'));
    await assert.rejects(retried, /enough/);
    await one.close();
    await assert.rejects(
      one.request('try', {}, async () => 1),
      /cannot try: the connection is closed/,
    );
  });
});
