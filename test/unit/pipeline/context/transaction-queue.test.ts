import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ShardProducer,
  type Transaction,
  TransactionError,
} from '../../../../src/core/ports/kafka.ts';
import {
  QueueClosedError,
  TransactionQueue,
} from '../../../../src/pipeline/context/transaction-queue.ts';
import { ShardWaits } from '../../../../src/pipeline/limits/shard-waits.ts';
import { WaitReasons } from '../../../../src/pipeline/limits/wait-reasons.ts';
import { VirtualClock } from '../../../support/memory/clock.ts';
import {
  RecordingHealth,
  RecordingLogger,
  RecordingMetrics,
} from '../../../support/memory/telemetry/recording-telemetry.ts';

interface Pending {
  readonly transaction: Transaction;
  readonly commit: (journalOffset: number) => void;
  readonly fail: (error: unknown) => void;
}

/** Returns a queue whose commits the test completes. */
function world() {
  const clock = new VirtualClock();
  const metrics = new RecordingMetrics();
  const pending: Pending[] = [];
  const failures: TransactionError[] = [];
  const producer: ShardProducer = {
    commit: (transaction) =>
      new Promise((resolve, reject) => {
        pending.push({
          transaction,
          commit: (journalOffset) => resolve({ journalOffset }),
          fail: reject,
        });
      }),
    close: async () => undefined,
  };
  const waits = new WaitReasons({ metrics, pipeline: 'p', clock, logger: new RecordingLogger() });
  const free = <T>(run: () => Promise<T>) => run();
  const limits = {
    encodes: free,
    uploads: free,
    polls: free,
    downloads: free,
    claims: free,
    backlogs: free,
  };
  const onFailure = (error: TransactionError) => failures.push(error);
  const health = new RecordingHealth();
  const queue = new TransactionQueue(producer, {
    clock,
    health,
    metrics,
    waits: new ShardWaits({ waits, clock, limits }, 0, new AbortController().signal),
    pipeline: 'p',
    shard: 0,
    transactionTimeoutMs: 60_000,
    onFailure,
  });
  const keys = () => pending.map(({ transaction }) => transaction.journal[0].key);
  return { clock, health, metrics, pending, failures, queue, keys };
}

const write = (key: string): Transaction => ({ journal: [{ key, value: null }] });
const turn = () => new Promise((resolve) => setImmediate(resolve));

for (const failure of ['fenced', 'unknown', 'too_large', 'rejected', 'aborted'] as const) {
  test(`a transaction that fails as ${failure} ends the queue and is reported once, and no later transaction is built`, async () => {
    const { health, queue, pending, failures, keys, metrics } = world();
    const error = new TransactionError(failure, 'no');
    const a = queue.run(() => write('a'));
    const b = queue.run(() => assert.fail('must not be built'));
    a.catch(() => undefined);
    b.catch(() => undefined);
    await turn();
    assert.deepEqual(
      [queue.runningSinceMs, ...health.transactions],
      [queue.lastCommitMs, 'p/shard-0'],
    );
    pending[0]?.fail(error);
    await assert.rejects(a, error);
    await assert.rejects(b, error);
    await assert.rejects(
      queue.run(() => assert.fail('must not be built')),
      error,
    );
    assert.deepEqual(keys(), ['a']);
    assert.deepEqual(failures, [error]);
    assert.equal(metrics.counter('transactions_total', { outcome: failure }), 1);
    assert.deepEqual([queue.runningSinceMs, ...health.transactions], [undefined]);
  });
}

test('a step that cannot be built ends the queue, because the state is no longer reliable', async () => {
  const { queue, failures } = world();
  const broken = new Error('record 0:1 is claimed already');
  await assert.rejects(
    queue.run(() => {
      throw broken;
    }),
    broken,
  );
  assert.deepEqual(
    failures.map(({ failure, cause }) => [failure, cause]),
    [['unknown', broken]],
  );
  await assert.rejects(
    queue.run(() => write('b')),
    broken,
  );
});

test('closing waits for the running transaction and starts no other transaction', async () => {
  const { queue, pending, keys, failures } = world();
  const a = queue.run(() => write('a'));
  const b = queue.run(() => write('b'));
  b.catch(() => undefined);
  await turn();
  let closed = false;
  const closing = queue.close().then(() => {
    closed = true;
  });
  await turn();
  assert.equal(closed, false);
  pending[0]?.commit(1);
  assert.equal(await a, 1);
  await closing;
  await assert.rejects(b, QueueClosedError);
  await assert.rejects(
    queue.run(() => write('c')),
    QueueClosedError,
  );
  assert.deepEqual([keys(), failures], [['a'], []]);
});
