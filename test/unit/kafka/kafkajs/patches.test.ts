/** Each test fails without its patch in src/kafka/kafkajs/patches.ts. */
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { CLIENT_CLOSED, isClientClosed } from '../../../../src/kafka/errors.ts';
import { internal } from '../../../../src/kafka/kafkajs/internals.ts';
import '../../../../src/kafka/kafkajs/patches.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {}, namespace: () => quiet };

interface Encoder {
  readonly buffer: Buffer;
  writeInt32(value: number): Encoder;
  writeBuffer(buffer: Buffer): Encoder;
}
type Decode = (decoder: object) => Promise<Buffer>;

const EncoderClass = internal<new () => Encoder>('protocol/encoder.js');
const DecoderClass = internal<new (buffer: Buffer) => object>('protocol/decoder.js');
const decodeMessages = internal<Decode>('protocol/requests/fetch/v4/decodeMessages.js');

const response = (bytes: Buffer): object =>
  new DecoderClass(new EncoderClass().writeInt32(bytes.length).writeBuffer(bytes).buffer);

describe('patches of kafkajs', () => {
  it('1: a closed client is not retried', async () => {
    const createRetry =
      internal<(options: object) => (attempt: () => Promise<never>) => Promise<never>>(
        'retry/index.js',
      );
    let attempts = 0;
    const attempt = async (): Promise<never> => {
      attempts++;
      throw new Error(`Failed to connect: ${CLIENT_CLOSED}`);
    };
    await assert.rejects(createRetry({ initialRetryTime: 1, retries: 3 })(attempt), isClientClosed);
    assert.equal(attempts, 1);
  });

  it('2: the bytes of a partition are passed on unchanged, whatever they contain', async () => {
    for (const bytes of [Buffer.from('no batch at all'), Buffer.alloc(0)]) {
      assert.deepEqual(await decodeMessages(response(bytes)), bytes);
    }
    const cut = new DecoderClass(
      new EncoderClass().writeInt32(100).writeBuffer(Buffer.from('cut')).buffer,
    );
    assert.deepEqual(await decodeMessages(cut), Buffer.alloc(0));
  });

  it('4: no timer is set while no request waits', () => {
    const RequestQueue = internal<
      new (
        options: object,
      ) => { checkPendingRequests(): void; throttleCheckTimeoutId: unknown; destroy(): void }
    >('network/requestQueue/index.js');
    const queue = new RequestQueue({
      logger: quiet,
      requestTimeout: 1_000,
      clientId: 'c',
      broker: 'b',
    });
    queue.checkPendingRequests();
    assert.equal(queue.throttleCheckTimeoutId, null);
    queue.destroy();
  });

  it('4: a throttled request is sent when the throttle ends', async () => {
    const RequestQueue = internal<
      new (
        options: object,
      ) => { push(request: object): void; maybeThrottle(ms: number): void; destroy(): void }
    >('network/requestQueue/index.js');
    const queue = new RequestQueue({
      logger: quiet,
      requestTimeout: 1_000,
      clientId: 'c',
      broker: 'b',
    });
    queue.maybeThrottle(20);
    await new Promise<void>((resolve) => {
      queue.push({
        entry: { correlationId: 1, apiName: 'x', reject() {} },
        expectResponse: true,
        sendRequest: resolve,
      });
    });
    queue.destroy();
  });

  it('8: errors far apart never cause a crash, and errors close together still do', async () => {
    interface Runner {
      running: boolean;
      scheduleFetchManager(): void;
    }
    const RunnerClass = internal<new (options: object) => Runner>('consumer/runner.js');
    const { KafkaJSError } = internal<{ KafkaJSError: new (message: string) => Error }>(
      'errors.js',
    );
    let nowMs = 0;
    const clock = mock.method(performance, 'now', () => nowMs);
    try {
      const run = (healthyMs: number): Promise<string> =>
        new Promise((resolve) => {
          const retry = { initialRetryTime: 1, maxRetryTime: 1, retries: 2 };
          let failures = 0;
          const getNodeIds = () => {
            if (++failures > 20) {
              runner.running = false;
              resolve('still running');
            } else nowMs += healthyMs;
            throw new KafkaJSError('connection lost');
          };
          const consumerGroup = { getNodeIds, groupId: 'g' };
          const runner: Runner = new RunnerClass({
            logger: quiet,
            consumerGroup,
            retry,
            onCrash: () => resolve('crashed'),
          });
          runner.running = true;
          runner.scheduleFetchManager();
        });
      assert.equal(await run(60_000), 'still running');
      assert.equal(await run(10), 'crashed');
    } finally {
      clock.mock.restore();
    }
  });

  it('25: the fetch loop ends if it is stopped while it ends the fetches of brokers that have changed', async () => {
    const createManager = internal<
      (options: object) => { start(): Promise<void>; stop(): Promise<void> }
    >('consumer/fetchManager.js');
    let nodes = ['1', '2'];
    let calls = 0;
    const responses = [Promise.withResolvers<object[]>(), Promise.withResolvers<object[]>()];
    const fetch = async () => {
      // Without the patch, the loop would block the event loop.
      if (calls > 100) throw new Error('fetches without end');
      return (await responses[calls++]?.promise) ?? [];
    };
    const getNodeIds = () => nodes;
    const manager = createManager({ logger: quiet, getNodeIds, fetch, handler() {} });
    const over = manager.start();
    nodes = ['1'];
    responses[0]?.resolve([]);
    await new Promise(setImmediate);
    const stopped = manager.stop();
    responses[1]?.resolve([]);
    await Promise.all([over, stopped]);
    assert.equal(calls, 2);
  });
});
