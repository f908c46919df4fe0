/**
 * Queue of a shard's transactions, which run one at a time with one producer (I3). Each is built
 * from the state at the time it starts. The first failure ends the queue, because later
 * transactions would be based on state that may not have been committed.
 */
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import { type ShardProducer, type Transaction, TransactionError } from '../../core/ports/kafka.ts';
import type { HealthReporter, Metrics } from '../../core/ports/telemetry.ts';
import type { ShardWaits } from '../limits/shard-waits.ts';
import { describe } from './errors.ts';

/** Minimum time after which a transaction counts as stuck, even if its timeout is short. */
const MIN_STUCK_MS = 240_000;

interface QueueDeps {
  readonly clock: Clock;
  readonly health: Pick<HealthReporter, 'transaction'>;
  readonly metrics: Metrics;
  readonly waits: ShardWaits;
  readonly pipeline: string;
  readonly shard: number;
  /** Timeout of the producer, after which a transaction fails. */
  readonly transactionTimeoutMs: number;
  readonly onFailure: (error: TransactionError) => void;
}

export class TransactionQueue {
  readonly #producer: ShardProducer;
  readonly #deps: QueueDeps;
  #tail: Promise<unknown> = Promise.resolve();
  #failed: unknown;
  #closed = false;
  /** Offset of the newest record in the journal that this queue has written. */
  #journalOffset = -1;
  /** Time in ms at which the running transaction started (monotonic clock). undefined if none is running. */
  runningSinceMs: number | undefined;
  lastCommitMs: number;

  constructor(producer: ShardProducer, deps: QueueDeps) {
    this.#producer = producer;
    this.#deps = deps;
    this.lastCommitMs = deps.clock.monotonic();
  }

  /**
   * Runs a transaction after all earlier ones. `build` returns undefined if there is nothing to
   * write.
   * @returns the journal offset of the transaction's first record, or undefined if nothing was
   * written
   * @throws TransactionError, or the error that ended the queue earlier
   */
  run(build: () => Transaction | undefined): Promise<number | undefined> {
    const result = this.#tail.then(() => this.#run(build));
    this.#tail = result.catch(() => undefined);
    return result;
  }

  async #run(build: () => Transaction | undefined, isLast = false): Promise<number | undefined> {
    if (this.#failed !== undefined) throw this.#failed;
    if (this.#closed && !isLast) throw new QueueClosedError();
    const { clock, health, metrics, waits, pipeline, shard, onFailure } = this.#deps;
    const startedMs = clock.monotonic();
    const count = (outcome: string) => metrics.count('transactions_total', { pipeline, outcome });
    let ended: (() => void) | undefined;
    try {
      const transaction = build();
      if (transaction === undefined) return undefined;
      this.runningSinceMs = startedMs;
      const stuckMs = Math.max(MIN_STUCK_MS, 2 * this.#deps.transactionTimeoutMs + 60_000);
      ended = health.transaction(`${pipeline}/shard-${shard}`, stuckMs);
      const commit = this.#producer.commit(transaction);
      const trouble = () => this.#producer.trouble;
      const { journalOffset } = await waits.during('kafka', commit, trouble);
      if (journalOffset <= this.#journalOffset)
        throw new TransactionError(
          'unknown',
          `the journal has lost records after offset ${journalOffset}: was the topic created again?`,
        );
      this.#journalOffset = journalOffset ?? this.#journalOffset;
      this.lastCommitMs = clock.monotonic();
      count('committed');
      metrics.observe(
        'transaction_duration_seconds',
        { pipeline },
        (this.lastCommitMs - startedMs) / 1000,
      );
      return journalOffset;
    } catch (error) {
      this.#failed = error;
      const failure =
        error instanceof TransactionError
          ? error
          : new TransactionError('unknown', describe(error), { cause: error });
      count(failure.failure);
      onFailure(failure);
      throw error;
    } finally {
      this.runningSinceMs = undefined;
      ended?.();
    }
  }

  /** Waits for the running transaction, then runs `last`. Other transactions reject; this call never rejects. */
  async close(last?: () => Transaction | undefined): Promise<void> {
    this.#closed = true;
    if (last !== undefined)
      this.#tail = this.#tail.then(() => this.#run(last, true)).catch(() => undefined);
    await this.#tail;
  }
}

/** Error of a transaction that did not start because the shard had been given up. */
export class QueueClosedError extends Error {
  override readonly name = 'QueueClosedError';
  constructor() {
    super('the shard was given up');
  }
}
