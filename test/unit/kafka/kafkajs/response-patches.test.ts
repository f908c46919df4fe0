/** Patches 7 and 15 to 17 of kafkajs, and disconnects of an unopened socket. Each test fails without its patch. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import '../../../../src/kafka/kafkajs/patches.ts';

interface Connection {
  authenticatedAt: [number, number] | null;
  sessionLifetime: { toString(): string };
  isAuthenticated(): boolean;
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
}
interface Response {
  parse(data: object): Promise<unknown>;
}
type BrokerPool = { withBroker(ask: () => Promise<unknown>): Promise<unknown> };

const load = createRequire(import.meta.url);
const ConnectionClass = load('kafkajs/src/network/connection.js') as new (
  options: object,
) => Connection;
const BrokerPoolClass = load('kafkajs/src/cluster/brokerPool.js') as { prototype: BrokerPool };
const response = (name: string) =>
  load(`kafkajs/src/protocol/requests/${name}/response.js`) as Response;
const quiet = { debug() {}, info() {}, warn() {}, error() {}, namespace: () => quiet };

const newConnection = (
  socketFactory: object = () => assert.fail('no socket was expected'),
): Connection =>
  new ConnectionClass({
    host: '127.0.0.1',
    port: 1,
    logger: quiet,
    requestTimeout: 50,
    connectionTimeout: 200,
    socketFactory,
  });

async function errorOf(
  parsed: Promise<unknown>,
): Promise<Error & { type?: string; topic?: string; offered?: string[] }> {
  return await parsed.then(
    () => assert.fail('an error was expected'),
    (error: Error) => error,
  );
}

describe('kafkajs, patched', () => {
  it('15: logs in again at 85 % of a session, however short', () => {
    const connection = newConnection();
    const loggedInAgoMs = (ms: number) => {
      const [seconds, nanos] = process.hrtime();
      const at = seconds * 1_000 + nanos / 1_000_000 - ms;
      connection.authenticatedAt = [Math.floor(at / 1_000), Math.floor((at % 1_000) * 1_000_000)];
      return connection.isAuthenticated();
    };
    assert.equal(connection.isAuthenticated(), false);
    assert.equal(loggedInAgoMs(3_600_000), true, 'a session without an end');
    for (const sessionMs of [4_000, 60_000, 3_600_000]) {
      connection.sessionLifetime = { toString: () => String(sessionMs) };
      assert.equal(loggedInAgoMs(sessionMs * 0.8), true);
      assert.equal(loggedInAgoMs(sessionMs * 0.86), false);
    }
  });

  it('16: names the refused topic, and not another topic of the same response', async () => {
    const added = (topic: string, errorCode: number) => ({
      topic,
      partitionErrors: [{ partition: 0, errorCode }],
    });
    const error = await errorOf(
      response('addPartitionsToTxn/v1').parse({
        errors: [added('journal', 55), added('decisions', 29)],
      }),
    );
    assert.deepEqual([error.type, error.topic], ['TOPIC_AUTHORIZATION_FAILED', 'decisions']);
    const gone = { errors: [added('journal', 55), added('decisions', 3)] };
    const { type } = await errorOf(response('addPartitionsToTxn/v1').parse(gone));
    assert.equal(type, 'UNKNOWN_TOPIC_OR_PARTITION');
    const metadata = {
      topicMetadata: [{ topic: 'events', topicErrorCode: 29, partitionMetadata: [] }],
    };
    assert.equal((await errorOf(response('metadata/v6').parse(metadata))).topic, 'events');
    const fetched = {
      responses: [{ topicName: 'journal', partitions: [{ partition: 0, errorCode: 29 }] }],
    };
    assert.equal((await errorOf(response('fetch/v11').parse(fetched))).topic, 'journal');
  });

  it('7: keeps the error of each partition that cannot be fetched, next to the data of other partitions', async () => {
    const partitions = [2, -1, 56, 1, 0].map((errorCode, partition) => ({ partition, errorCode }));
    const parsed = (await response('fetch/v11').parse({
      responses: [{ topicName: 'events', partitions }],
    })) as { responses: { partitions: { failure?: { type?: string } }[] }[] };
    const failures = parsed.responses[0]?.partitions.map(({ failure }) => failure?.type);
    assert.deepEqual(failures, [
      'CORRUPT_MESSAGE',
      'UNKNOWN',
      'KAFKA_STORAGE_ERROR',
      'OFFSET_OUT_OF_RANGE',
      undefined,
    ]);
  });

  it('7: leaves errors of stale metadata to kafkajs, which joins again', async () => {
    for (const [errorCode, type] of [
      [3, 'UNKNOWN_TOPIC_OR_PARTITION'],
      [5, 'LEADER_NOT_AVAILABLE'],
      [6, 'NOT_LEADER_FOR_PARTITION'],
      [74, 'FENCED_LEADER_EPOCH'],
      [75, 'UNKNOWN_LEADER_EPOCH'],
    ]) {
      const partitions = [2, errorCode].map((code, partition) => ({ partition, errorCode: code }));
      const fetched = { responses: [{ topicName: 'events', partitions }] };
      assert.equal((await errorOf(response('fetch/v11').parse(fetched))).type, type);
    }
  });

  it('16: reports the mechanisms that the broker offers', async () => {
    const error = await errorOf(
      response('saslHandshake/v1').parse({ errorCode: 33, enabledMechanisms: ['PLAIN'] }),
    );
    assert.deepEqual([error.type, error.offered], ['UNSUPPORTED_SASL_MECHANISM', ['PLAIN']]);
  });

  it('17: reports the refusal of a broker', async () => {
    const refusal = Object.assign(new Error('no'), { type: 'GROUP_AUTHORIZATION_FAILED' });
    const pool = { brokers: { 1: {} }, findBroker: async () => ({}) } as unknown as BrokerPool;
    const ask = (error: Error) =>
      BrokerPoolClass.prototype.withBroker.call(pool, () => Promise.reject(error));
    assert.equal(await errorOf(ask(refusal)), refusal);
    assert.equal(await ask(new Error('away')), null);
  });

  it('closes a socket that is not open yet without adding a listener for each disconnect', async () => {
    const sockets: ReturnType<typeof connect>[] = [];
    const connection = newConnection(() => {
      // Keeps the socket unopened with a lookup that never ends.
      const socket = connect({ host: 'nowhere.invalid', port: 1, lookup: () => undefined });
      sockets.push(socket);
      return socket;
    });
    const connecting = errorOf(connection.connect());
    await new Promise(setImmediate);
    for (let time = 0; time < 12; time++) await connection.disconnect();
    await connecting;
    assert.equal(sockets.length, 1);
    assert.ok((sockets[0]?.listenerCount('connect') ?? 99) < 5);
    assert.equal(sockets[0]?.destroyed, true);
  });
});
