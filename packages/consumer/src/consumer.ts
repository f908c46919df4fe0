/**
 * Consumer of decisions and dead letters. Its group works like that of a pipeline (src/kafka/consumer),
 * with the decisions in the role of the journal and the dead letters in the role of the source: the owner
 * of decision partition p also owns the dead-letter partitions d with d mod K = p.
 */

import type { Decision } from '../../../contracts/index.js';
import type {
  Assignment,
  FetchedBatch,
  GroupListener,
  Stream,
} from '../../../src/core/ports/kafka.ts';
import type { Logger } from '../../../src/core/ports/telemetry.ts';
import { connectKafka, type KafkaConnection } from '../../../src/kafka/index.ts';
import { retryWaitMs } from '../../client/src/base/backoff.ts';
import { systemClock, systemRandom } from '../../client/src/base/clock.ts';
import { assertSecrecy, brokerConnection, loggerOf, warnOfProcess } from './connection.ts';
import type { FramedOutcomes } from './framed-outcomes.ts';
import type { DecisionConsumerOptions, Outcome } from './options.ts';
import { receivedRecords } from './received-records.ts';

const BACKOFF = { baseMs: 200, capMs: 30_000 };

export interface DecisionConsumer extends AsyncDisposable {
  /** Waits for the running `process`, commits, and leaves the group. Can be called repeatedly. */
  stop(): Promise<void>;
}

/**
 * Reads decisions and dead letters with isolation level read_committed, until it is stopped.
 * Failures of brokers, of the registry and of `process` are logged and retried. No record can stop
 * the consumer.
 *
 * @returns once the consumer has joined its group
 * @throws TypeError for invalid options; Error if brokers or topics cannot be reached, or another
 * kind of consumer uses the group id
 *
 * @example
 * const consumer = await consumeDecisions({
 *   brokers: ['127.0.0.1:9092'],
 *   group: 'moderation',
 *   decisions: 'content-events.decisions',
 *   deadLetters: 'content-events.dead-letters',
 *   process({ records }) {
 *     for (const record of records) {
 *       if (record.kind === 'decision') console.log(record.eventId, record.decision.result);
 *       else if (record.kind === 'dead-letter')
 *         console.log(record.eventId, record.deadLetter['dead-letter-reason']);
 *       else console.warn(record.problem);
 *     }
 *   },
 * });
 * process.once('SIGTERM', () => void consumer.stop());
 */
export async function consumeDecisions<T extends Outcome = Decision>(
  options: DecisionConsumerOptions<T>,
): Promise<DecisionConsumer> {
  check(options);
  assertSecrecy(options);
  const logger = loggerOf(options.log ?? warnOfProcess);
  const framed =
    options.registry &&
    new (await import('./framed-outcomes.ts')).FramedOutcomes(options.registry, logger);
  const consumption = new Consumption(options, framed, logger);
  await consumption.start();
  return consumption;
}

function check({
  brokers,
  group,
  decisions,
  deadLetters,
}: Omit<DecisionConsumerOptions, 'process'>): void {
  if (brokers.length === 0) throw new TypeError('brokers is empty: name at least one host:port');
  if (group === '' || decisions === '' || deadLetters === '')
    throw new TypeError('group, decisions and deadLetters must not be empty');
  if (decisions === deadLetters)
    throw new TypeError(`decisions and deadLetters are the same topic: ${decisions}`);
}

/** Partition that this member owns. */
interface OwnedPartition {
  readonly stream: Stream;
  readonly partition: number;
  readonly generation: number;
  /** `to` of the last processed batch. */
  processed: number;
  /** Consecutive rejections of `process`. */
  failures: number;
}

class Consumption<T extends Outcome> implements DecisionConsumer, GroupListener {
  readonly #options: DecisionConsumerOptions<T>;
  readonly #logger: Logger;
  readonly #framed: FramedOutcomes | undefined;
  readonly #kafka: KafkaConnection;
  readonly #group: ReturnType<KafkaConnection['group']>;
  readonly #topics: Readonly<Record<Stream, string>>;
  readonly #stopping = new AbortController();
  /** Queue of all work that reads positions or processes records, one task at a time. */
  #work: Promise<void> = Promise.resolve();
  #generation = 0;
  #lost = new AbortController();
  #owned: readonly OwnedPartition[] = [];
  #stopped: Promise<void> | undefined;

  constructor(
    options: DecisionConsumerOptions<T>,
    framed: FramedOutcomes | undefined,
    logger: Logger,
  ) {
    const { decisions, deadLetters = decisions, group } = options;
    this.#options = options;
    this.#framed = framed;
    this.#logger = logger;
    this.#topics = { journal: decisions, source: deadLetters };
    this.#kafka = connectKafka(brokerConnection(options, logger), logger);
    this.#group = this.#kafka.group({
      groupId: group,
      sourceTopic: deadLetters,
      journalTopic: decisions,
      // The broker rejects members with other topics, and members of the connector itself.
      protocol: `content-review-consumer ${decisions} ${deadLetters}`,
    });
  }

  async start(): Promise<void> {
    try {
      await this.#group.start(this);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  joined({ generation, shards }: Assignment): void {
    this.left();
    this.#lost = new AbortController();
    this.#generation = generation;
    const own = (stream: Stream) => (partition: number) => ({
      ...{ stream, partition, generation, processed: 0, failures: 0 },
    });
    const { journal, source } = this.#topics;
    this.#owned = [
      ...(journal === source ? [] : [...shards.keys()].map(own('journal'))),
      ...[...shards.values()].flat().map(own('source')),
    ];
    this.#begin(this.#owned, this.#lost.signal);
  }

  left(): void {
    this.#lost.abort(new Error('this member no longer owns the partition'));
    this.#owned = [];
  }

  fetched(batch: FetchedBatch): void {
    const { signal: lost } = this.#lost;
    const owned = this.#owned.find(
      ({ stream, partition }) => stream === batch.stream && partition === batch.partition,
    );
    if (owned === undefined) return;
    this.#group.pause(owned.stream, owned.partition);
    this.#enqueue(async () => {
      try {
        await this.#take(owned, batch, lost);
        if (!this.#isOver(lost)) this.#group.resume(owned.stream, owned.partition);
      } catch (error) {
        this.#deliverAgain(owned, error, lost);
      }
    });
  }

  async #stop(): Promise<void> {
    this.#stopping.abort(new Error('the consumer is stopped'));
    await this.#work;
    await this.#group.stop();
    await this.#kafka.close();
    await this.#framed?.close();
  }

  #isOver(lost: AbortSignal): boolean {
    return lost.aborted || this.#stopping.signal.aborted;
  }

  /** @param run must not reject */
  #enqueue(run: () => Promise<void>): void {
    this.#work = this.#work.then(run);
  }

  /** Reads the positions of partitions, with retries, then resumes the partitions there. */
  #begin(partitions: readonly OwnedPartition[], lost: AbortSignal): void {
    this.#enqueue(async () => {
      for (let failures = 0; !this.#isOver(lost); failures++) {
        try {
          const positions = await this.#positions(partitions);
          if (this.#isOver(lost)) return;
          for (const [owned, position] of positions) {
            owned.processed = position;
            this.#group.seek(owned.stream, owned.partition, position);
            this.#group.resume(owned.stream, owned.partition);
          }
          return;
        } catch (error) {
          this.#logger.error({ error }, 'cannot read the stored positions: retrying');
          await this.#pause(failures, lost);
        }
      }
    });
  }

  async #positions(partitions: readonly OwnedPartition[]): Promise<[OwnedPartition, number][]> {
    const found: [OwnedPartition, number][] = [];
    for (const [stream, topic] of Object.entries(this.#topics)) {
      const some = partitions.filter((one) => one.stream === stream);
      if (some.length === 0) continue;
      const numbers = some.map(({ partition }) => partition);
      const stored =
        (await this.#options.positions?.(topic, numbers)) ??
        (await this.#committed(topic, numbers));
      for (const owned of some) {
        const position = stored.get(owned.partition) ?? 0;
        if (!Number.isSafeInteger(position) || position < 0)
          throw new RangeError(
            `positions returned ${position} for ${topic}-${owned.partition}: it must be the \`to\` of a batch`,
          );
        found.push([owned, position]);
      }
    }
    return found;
  }

  async #committed(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, number>> {
    const { admin } = this.#kafka;
    const offsets = await admin.committed(this.#options.group, topic, partitions);
    const unread = partitions.filter((one) => offsets.get(one)?.offset == null);
    const starts = unread.length === 0 ? undefined : await admin.ranges(topic, unread);
    return new Map(
      partitions.map((one) => [one, offsets.get(one)?.offset ?? starts?.get(one)?.start ?? 0]),
    );
  }

  async #take(owned: OwnedPartition, batch: FetchedBatch, lost: AbortSignal): Promise<void> {
    const topic = this.#topics[owned.stream];
    const { partition } = owned;
    if (this.#isOver(lost)) return;
    for await (const piece of batch.pieces()) {
      const isOutcome = topic === this.#options.decisions;
      if (isOutcome) {
        const signal = AbortSignal.any([lost, this.#stopping.signal]);
        await this.#framed?.prepare(piece.records, signal);
      }
      const source = { topic, partition, isOutcome, framed: this.#framed };
      const records = receivedRecords<T>(piece, source);
      if (this.#isOver(lost)) return;
      const to = piece.nextOffset;
      if (records.length > 0) {
        const { processed: from } = owned;
        await this.#options.process({ topic, partition, from, to, records, signal: lost });
        owned.processed = to;
        owned.failures = 0;
      }
      await this.#commit(owned, to);
      if (this.#isOver(lost)) return;
    }
  }

  /** A failed commit is harmless: a later one includes its offset, or the next owner processes some records again. */
  async #commit({ stream, partition, generation }: OwnedPartition, to: number): Promise<void> {
    // Commits only if this member has kept the partition through at most one rebalance, so that no
    // other member can have owned it in between.
    const kept = this.#owned.some((one) => one.stream === stream && one.partition === partition);
    if (!kept || this.#generation > generation + 1) return;
    await this.#group.commit(stream, partition, to).catch((error: unknown) => {
      const { [stream]: topic } = this.#topics;
      this.#logger.warn({ topic, partition, offset: to, error }, 'an offset was not committed');
    });
  }

  #deliverAgain(owned: OwnedPartition, error: unknown, lost: AbortSignal): void {
    if (this.#isOver(lost)) return;
    const { stream, partition } = owned;
    const { [stream]: topic } = this.#topics;
    this.#logger.error({ topic, partition, error }, 'process failed: delivering the records again');
    void this.#pause(owned.failures++, lost).then(() => this.#begin([owned], lost));
  }

  /** Waits before a retry. Ends early when the partition is lost or the consumer stops. */
  async #pause(failures: number, lost: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([lost, this.#stopping.signal]);
    const waitMs = retryWaitMs(failures, BACKOFF, systemRandom);
    await systemClock.sleep(waitMs, ended).catch(() => undefined);
  }
}
