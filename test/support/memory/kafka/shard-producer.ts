/**
 * ShardProducer, ControlProducer and ReplayProducer over MemoryKafka. Each request that a real client would send is a
 * separate step.
 */

import { partitionOf } from '../../../../dev/kafka/partitioner.ts';
import {
  type ControlProducer,
  type Transaction,
  TransactionError,
  type TransactionFailure,
} from '../../../../src/core/ports/kafka.ts';
import type { OutgoingRecord } from '../../../../src/core/record.ts';
import { roundTrip } from '../scheduler.ts';
import { BrokerError } from './broker-error.ts';
import type { Home, PipelineTopics } from './client.ts';
import type { CommitAttempt, CommitFate, MemoryKafka } from './kafka.ts';

interface Send {
  readonly topic: string;
  readonly partition: number;
  readonly records: OutgoingRecord[];
}

export class MemoryShardProducer implements ControlProducer {
  readonly #kafka: MemoryKafka;
  readonly #home: Home;
  readonly #topics: PipelineTopics;
  readonly #shards: readonly number[];
  readonly #client: string;
  readonly #transactionalId: string;
  readonly #channel: string;
  #epoch: number | undefined;
  #commits = 0;
  /** Partition for records without a key. Changes with every transaction. */
  #rotation = 0;
  #state: 'idle' | 'busy' | 'dead' | 'closed' = 'idle';

  constructor(
    kafka: MemoryKafka,
    home: Home,
    client: string,
    topics: PipelineTopics,
    shards: readonly number[],
    role = String(shards[0]),
  ) {
    this.#kafka = kafka;
    this.#home = home;
    this.#client = client;
    this.#topics = topics;
    this.#shards = shards;
    this.#transactionalId = `${topics.journal}-${role}`;
    this.#channel = `producer/${client}/${this.#transactionalId}`;
  }

  /** Commits a transaction. Transactions of replays have no journal records. */
  async commit(
    given: Omit<Transaction, 'journal'> & Partial<Pick<Transaction, 'journal'>>,
  ): Promise<{ readonly journalOffset: number }> {
    if (this.#state === 'busy')
      throw this.#failed('aborted', 'another transaction of this producer is still running');
    if (this.#state !== 'idle')
      throw this.#failed('aborted', `nothing was sent: this producer is ${this.#state}`);
    this.#state = 'busy';
    const attempt: CommitAttempt = {
      client: this.#client,
      transactionalId: this.#transactionalId,
      shard: this.#shards[0] as number,
      number: ++this.#commits,
      startedMs: this.#kafka.clock.monotonic(),
      transaction: { ...given, journal: given.journal ?? [] },
    };
    const fate = this.#kafka.hooks.commitFate?.(attempt) ?? 'commit';
    try {
      const journalOffset = await this.#run(attempt, fate);
      if (this.#state === 'busy') this.#state = 'idle';
      return { journalOffset };
    } catch (error) {
      if (this.#state === 'busy') this.#state = 'dead';
      throw error instanceof TransactionError
        ? error
        : this.#failed(failureOf(error), String(error), error);
    }
  }

  async fence(): Promise<void> {
    await this.#initialise();
  }

  async close(): Promise<void> {
    this.#state = 'closed';
  }

  async #run(attempt: CommitAttempt, fate: CommitFate): Promise<number> {
    const { transaction } = attempt;
    if (fate === 'unsent') throw this.#failed('aborted', 'no broker could be reached');
    const { transactions, hooks } = this.#kafka;
    const id = this.#transactionalId;
    const epoch = await this.#initialise();
    if (fate === 'too-large')
      throw this.#failed('too_large', 'a record is larger than the topic accepts');
    if (fate === 'rejected') throw this.#failed('rejected', 'the brokers refuse this transaction');

    let journalOffset: number | undefined;
    for (const { topic, partition, records } of this.#sends(transaction)) {
      const offset = await this.#ask(() =>
        transactions.append(id, epoch, topic, partition, records),
      );
      journalOffset ??= offset;
    }
    const { offsets = [] } = transaction;
    const { group, source } = this.#topics;
    if (offsets.length > 0)
      await this.#ask(() => transactions.addOffsets(id, epoch, group, source, offsets));
    await hooks.beforeCommit?.(attempt);
    await this.#end(attempt, fate, epoch);
    return journalOffset as number;
  }

  async #initialise(): Promise<number> {
    const { transactions, hooks } = this.#kafka;
    const id = this.#transactionalId;
    this.#epoch ??= await this.#ask(() => {
      const epoch = transactions.initialise(id);
      hooks.initialised?.(id, epoch);
      return epoch;
    });
    return this.#epoch;
  }

  async #end(attempt: CommitAttempt, fate: CommitFate, epoch: number): Promise<void> {
    const { transactions, clock, network, hooks } = this.#kafka;
    const id = this.#transactionalId;
    const commit = () => {
      transactions.end(id, epoch, 'commit');
      hooks.committed?.(attempt, { epoch, fate });
    };
    if (typeof fate === 'object') {
      const arrive = () => network.defer(`${this.#channel}/late`, () => ignoreRefusal(commit));
      if (fate.lateMs === undefined) arrive();
      else clock.after(fate.lateMs, arrive);
      throw await this.#heard('unknown', 'no reply to the commit, which is still under way');
    }
    switch (fate) {
      case 'reply-lost':
        await this.#ask(commit);
        throw this.#failed('unknown', 'the reply to the commit was lost');
      case 'committed-fenced':
        await this.#ask(commit);
        throw this.#failed('fenced', 'INVALID_PRODUCER_EPOCH in response to the retry of a commit');
      case 'lost':
        throw await this.#heard('unknown', 'no reply to the commit');
      case 'fenced':
        await this.#ask(() => transactions.expire(id));
        throw this.#failed('fenced', 'the broker timed the transaction out');
      case 'aborted':
        throw await this.#heard('aborted', 'the connection broke before the commit');
      case 'silent':
        return new Promise(() => {});
      default:
        await this.#ask(commit);
    }
  }

  /** Returns the sends of a transaction in order: the journal first, then one for each output partition. */
  #sends(transaction: CommitAttempt['transaction']): readonly Send[] {
    const sends: Send[] = this.#shards.map((partition) => ({
      topic: this.#topics.journal,
      partition,
      records: [...transaction.journal],
    }));
    this.#rotation++;
    for (const { topic, records } of transaction.outputs ?? []) {
      const partitions = this.#kafka.cluster.partitions(topic);
      if (partitions === 0)
        throw new BrokerError('UNKNOWN_TOPIC_OR_PARTITION', `topic ${topic} does not exist`);
      const byPartition = new Map<number, Send>();
      for (const view of records) {
        const record = copyOf(view);
        const partition =
          record.key === null ? this.#rotation % partitions : partitionOf(record.key, partitions);
        const send = byPartition.get(partition) ?? { topic, partition, records: [] };
        send.records.push(record);
        byPartition.set(partition, send);
      }
      sends.push(...byPartition.values());
    }
    return sends;
  }

  #ask<T>(apply: () => T): Promise<T> {
    return roundTrip(this.#kafka.network, this.#home, this.#channel, apply);
  }

  /** Returns the error of a failure that the client detects only after a further round trip, like its own timeout. */
  async #heard(failure: TransactionFailure, why: string): Promise<TransactionError> {
    await this.#ask(() => {});
    return this.#failed(failure, why);
  }

  #failed(failure: TransactionFailure, why: string, cause?: unknown): TransactionError {
    return new TransactionError(
      failure,
      `transaction of ${this.#transactionalId} by ${this.#client}: ${why}`,
      { cause },
    );
  }
}

/** Copies the record, since the sender reuses its buffers after the transaction. */
function copyOf({ key, value, headers = [] }: OutgoingRecord): OutgoingRecord {
  const copy = <T>(part: T) => (Buffer.isBuffer(part) ? Buffer.from(part) : part);
  return {
    key: copy(key),
    value: copy(value),
    headers: headers.map(([name, one]) => [name, copy(one)]),
  };
}

/**
 * Ignores the rejection of a late commit, whose producer is fenced or whose transaction is over. No caller waits for
 * the commit.
 */
function ignoreRefusal(apply: () => void): void {
  try {
    apply();
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
  }
}

function failureOf(error: unknown): TransactionFailure {
  if (!(error instanceof BrokerError)) throw error;
  switch (error.code) {
    case 'INVALID_PRODUCER_EPOCH':
    case 'INVALID_TXN_STATE':
      return 'fenced';
    case 'MESSAGE_TOO_LARGE':
      return 'too_large';
    case 'INVALID_RECORD':
    case 'OFFSET_METADATA_TOO_LARGE':
      return 'rejected';
    default:
      return 'aborted';
  }
}
