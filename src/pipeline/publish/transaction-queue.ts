/**
 * The transactions of one shard, one after the other through one producer (I3). Each is built when its turn comes, from
 * the state as it is then. The first that fails ends the queue: what was built after it rests on a state that may not
 * be (DESIGN 3 'Lost ownership').
 */
import type { Clock } from '../../base/clock.ts';
import { type ShardProducer, type Transaction, TransactionError } from '../../core/ports/kafka.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';
import { describe } from '../context/errors.ts';
import type { WaitReasons } from '../limits/wait-reasons.ts';

export class TransactionQueue {
  readonly #producer: ShardProducer;
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #labels: { readonly pipeline: string };
  readonly #onFailure: (error: TransactionError) => void;
  readonly #waits: WaitReasons;
  readonly #who: string;
  #tail: Promise<unknown> = Promise.resolve();
  #failed: unknown;
  #closed = false;
  #startedMs: number | undefined;
  lastCommitMs: number;

  constructor(
    producer: ShardProducer,
    deps: {
      clock: Clock;
      metrics: Metrics;
      waits: WaitReasons;
      pipeline: string;
      who: string;
      onFailure: (error: TransactionError) => void;
    },
  ) {
    this.#producer = producer;
    this.#clock = deps.clock;
    this.#metrics = deps.metrics;
    this.#labels = { pipeline: deps.pipeline };
    this.#onFailure = deps.onFailure;
    this.#waits = deps.waits;
    this.#who = deps.who;
    this.lastCommitMs = deps.clock.monotonic();
  }

  /** Since when the transaction in hand runs, ms on the monotonic clock. */
  get runningSinceMs(): number | undefined {
    return this.#startedMs;
  }

  /**
   * Runs a transaction when those before it are through. `build` may return undefined: nothing to do any more.
   * @returns the journal offset of its first record, or undefined when nothing was to do.
   * @throws TransactionError, or what ended the queue before.
   */
  run(build: () => Transaction | undefined): Promise<number | undefined> {
    const turn = this.#tail.then(async () => {
      if (this.#failed !== undefined) throw this.#failed;
      if (this.#closed) throw new QueueClosedError();
      const startedMs = this.#clock.monotonic();
      try {
        const transaction = build();
        if (transaction === undefined) return undefined;
        this.#startedMs = startedMs;
        const { journalOffset } = await this.#waits.during(
          'kafka',
          this.#who,
          this.#producer.commit(transaction),
        );
        this.lastCommitMs = this.#clock.monotonic();
        this.#metrics.count('transactions_total', { ...this.#labels, outcome: 'committed' });
        this.#metrics.observe(
          'transaction_duration_seconds',
          this.#labels,
          (this.lastCommitMs - startedMs) / 1000,
        );
        return journalOffset;
      } catch (error) {
        this.#failed = error;
        const failure =
          error instanceof TransactionError
            ? error
            : new TransactionError('unknown', describe(error), { cause: error });
        this.#metrics.count('transactions_total', { ...this.#labels, outcome: failure.failure });
        this.#onFailure(failure);
        throw error;
      } finally {
        this.#startedMs = undefined;
      }
    });
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  /** Lets the transaction in hand end and starts no other. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#tail;
  }
}

/** The shard was given up before this transaction began: nothing of it happened. */
export class QueueClosedError extends Error {
  override readonly name = 'QueueClosedError';
  constructor() {
    super('the shard was given up');
  }
}
