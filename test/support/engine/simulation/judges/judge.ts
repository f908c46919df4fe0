/** Watches a world while it runs, and keeps the first violation. */
import type { KafkaHooks } from '../../../memory/kafka/kafka.ts';
import { TOPICS, type World } from '../../world.ts';
import { CONTENT_MARK } from '../kinds.ts';
import type { Shape } from '../script.ts';
import type { Obligations } from './obligations.ts';
import type { Promises } from './promises.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

const DAY_MS = 86_400_000;

interface Judges {
  readonly obligations: Obligations;
  readonly truth: Truth;
  readonly promises: Promises;
}

export class Judge {
  violation: Violation | undefined;
  readonly #obligations: Obligations;
  readonly #truth: Truth;
  readonly #promises: Promises;
  readonly #epochs = new Map<string, number>();
  readonly #longestMs: number;
  readonly #quotaUnderReview: number;

  constructor({ obligations, truth, promises }: Judges, shape: Shape) {
    this.#obligations = obligations;
    this.#truth = truth;
    this.#promises = promises;
    this.#quotaUnderReview = shape.quotaUnderReview ?? Infinity;
    // A transaction takes about ten requests and responses. One that waits for a failing remote call would take
    // longer.
    this.#longestMs = 1_000 + 30 * shape.latencyMs;
  }

  accuse(violation: Violation): void {
    this.violation ??= violation;
  }

  /** @throws Violation */
  check(): void {
    if (this.violation !== undefined) throw this.violation;
  }

  /** Checks I1, I2, truth and commands after every committed transaction. */
  watch({ kafka }: World): void {
    kafka.transactions.watch((transaction) => {
      if (this.violation !== undefined) return;
      try {
        this.#obligations.committed(transaction);
        this.#promises.committed(transaction);
        // The limit is strict, because a batch has at most a quarter of the limit's rows, or one row.
        const { underReview } = this.#obligations;
        if (underReview > this.#quotaUnderReview)
          throw new Violation('quota', `${underReview} rows are under review`);
        for (let partition = 0; partition < kafka.cluster.partitions(TOPICS.source); partition++) {
          const { offset, metadata } = kafka.cluster.committedOffset(
            TOPICS.group,
            TOPICS.source,
            partition,
          );
          const watermark = this.#obligations.watermark(partition);
          if (metadata !== '' && offset !== null && offset > watermark)
            throw new Violation(
              'I1',
              `offset ${offset} of partition ${partition} is committed, but the watermark is ${watermark}`,
            );
        }
        this.#truth.committed(transaction);
      } catch (error) {
        this.accuse(
          error instanceof Violation ? error : new Violation('I1', String(error), { cause: error }),
        );
      }
    });
  }

  /** Checks I3 (no commit of a fenced owner) and I5 (transactions wait only for Kafka). */
  hooks(world: () => World): Pick<KafkaHooks, 'initialised' | 'committed'> {
    return {
      initialised: (id, epoch) => this.#epochs.set(id, epoch),
      committed: ({ client, transactionalId, startedMs }, { epoch, fate }) => {
        const newest = this.#epochs.get(transactionalId) ?? 0;
        if (epoch < newest)
          this.accuse(
            new Violation(
              'I3',
              `${client} committed for ${transactionalId} with epoch ${epoch}, fenced by ${newest}`,
            ),
          );
        const process = world().instances.find(
          (instance) => instance.process.name === client,
        )?.process;
        const tookMs = world().clock.monotonic() - startedMs;
        if (
          fate === 'commit' &&
          process !== undefined &&
          process.stalledUntilMs < startedMs &&
          tookMs > this.#longestMs
        )
          this.accuse(new Violation('I5', `a transaction of ${client} was open for ${tookMs} ms`));
      },
    };
  }

  /** Checks I4 when a body reaches the storage. */
  uploaded(remoteId: string): void {
    if (!this.#obligations.isRecorded(remoteId))
      this.accuse(
        new Violation('I4', `${remoteId} was uploaded before its job was in the journal`),
      );
  }

  /** Checks that no minute and no day has more rows than the quota plus one batch per shard. */
  checkQuota({ service: { uploads } }: World, shape: Shape): void {
    const { quotaPerMinute = Infinity, quotaPerDay = Infinity, shards } = shape;
    const largest = Math.max(0, ...uploads.map(({ rows }) => rows));
    const sumOf = (some: typeof uploads) => some.reduce((sum, { rows }) => sum + rows, 0);
    for (const { atMs: endMs } of uploads) {
      const within = uploads.filter(({ atMs }) => atMs > endMs - 60_000 && atMs <= endMs);
      if (sumOf(within) > quotaPerMinute + shards * largest)
        throw new Violation('quota', `${sumOf(within)} rows in the minute up to ${endMs}`);
    }
    for (const [day, within] of Map.groupBy(uploads, ({ wallMs }) => Math.floor(wallMs / DAY_MS)))
      if (sumOf(within) > quotaPerDay + shards * largest)
        throw new Violation('quota', `${sumOf(within)} rows in day ${day}`);
  }

  /** Checks I6: no log contains content or the query of a signed address. */
  checkSilence({ instances }: World): void {
    for (const { logger, process } of instances) {
      const text = logger.text();
      if (text.includes(CONTENT_MARK) || text.includes('signature='))
        throw new Violation('I6', `the log of ${process.name} contains content or a signature`);
    }
  }
}
