/** Member of a pipeline's consumer group. Runs one consumer session after another until it is stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type {
  Assignment,
  GroupListener,
  ShardGroup,
  Stream,
  UnreadPartition,
} from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { ConnectOptions } from '../connect.ts';
import { explain, protocolErrorOf } from '../errors.ts';
import { ConsumerSession } from './consumer-session.ts';
import { type GroupOptions, type GroupSettings, groupSettings } from './group-options.ts';

/** Maximum delay after sessions that ended soon after their join. Long, because every join rebalances all members. */
const MAX_RESTART_DELAY_MS = 30_000;
/** Maximum delay after sessions that never joined, for example while brokers are down. Short, to reconnect soon. */
const MAX_UNJOINED_DELAY_MS = 3_000;
/** Time after its join from which a session counts as healthy. The restart delay then starts over. */
const HEALTHY_MS = 10_000;
/** Pause before the next check of the membership. */
const CONFIRM_RETRY_MS = 250;
/** Maximum time for the first join. The group's coordinator may have to start or move first. */
const START_PATIENCE_MS = 60_000;
/** Errors of a coordinator that is starting or moving. kafkajs stops retrying them within two seconds. */
const SOON_OVER =
  /^(GROUP_LOAD_IN_PROGRESS|GROUP_COORDINATOR_NOT_AVAILABLE|NOT_COORDINATOR_FOR_GROUP)$/;

export class KafkaShardGroup implements ShardGroup {
  readonly #connect: ConnectOptions;
  readonly #options: GroupSettings;
  readonly #logger: Logger;
  readonly #stopping = new AbortController();
  #listener: GroupListener | undefined;
  #session: ConsumerSession | undefined;
  #stopped: Promise<void> | undefined;
  #lastHeardMs = -Infinity;
  /** Number of consecutive sessions that joined and ended soon afterwards. */
  #failures = 0;
  /** Number of consecutive sessions that never joined. */
  #unjoined = 0;
  /** Time of the first join of the current session: monotonic clock, ms. */
  #joinedMs: number | undefined;
  #joinedOnce = false;
  #startBeforeMs = 0;
  readonly #firstJoin = Promise.withResolvers<void>();

  constructor(connect: ConnectOptions, options: GroupOptions, logger: Logger) {
    this.#connect = connect;
    this.#options = groupSettings(options);
    this.#logger = logger.child({ groupId: options.groupId });
    this.#firstJoin.promise.catch(() => undefined);
  }

  async start(listener: GroupListener): Promise<void> {
    if (this.#listener !== undefined) throw new Error('this group was already started');
    this.#listener = listener;
    this.#startBeforeMs = performance.now() + START_PATIENCE_MS;
    try {
      await this.#openSession();
      await this.#firstJoin.promise;
    } catch (error) {
      this.#stopping.signal.throwIfAborted();
      await this.stop();
      const { groupId } = this.#options;
      const principal = this.#connect.security?.principal;
      const why = explain(error, { operation: 'READ', group: groupId, principal });
      throw new Error(
        `cannot join group ${groupId} at ${this.#connect.brokers.join(', ')}: ${why}`,
        { cause: error },
      );
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  seek(stream: Stream, partition: number, offset: number): void {
    this.#session?.seek(stream, partition, offset);
  }

  pause(stream: Stream, partition: number): void {
    this.#session?.setResumed(stream, partition, false);
  }

  resume(stream: Stream, partition: number): void {
    this.#session?.setResumed(stream, partition, true);
  }

  /**
   * Commits outside any transaction. Used by consumers other than the connector. Rejects if this
   * member has lost the partition.
   */
  async commit(stream: Stream, partition: number, offset: number): Promise<void> {
    if (this.#session === undefined) throw new Error('the group is stopped');
    await this.#session.commit(stream, partition, offset);
  }

  lastHeardMs(): number {
    return this.#lastHeardMs;
  }

  unread(): readonly UnreadPartition[] {
    return this.#session?.unread ?? [];
  }

  async confirmMembership(signal: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([signal, this.#stopping.signal]);
    for (;;) {
      ended.throwIfAborted();
      const heartbeat = this.#session?.heartbeat().then(
        () => true,
        // The fetch loop gets the same error and joins the group again.
        () => false,
      );
      // During a rebalance, a heartbeat completes only after the join.
      const confirmed = heartbeat !== undefined && (await abortable(heartbeat, ended));
      if (confirmed) return;
      await sleep(CONFIRM_RETRY_MS, undefined, { signal: ended }).catch(() =>
        ended.throwIfAborted(),
      );
    }
  }

  async #stop(): Promise<void> {
    this.#stopping.abort(new Error('the group is stopped'));
    this.#firstJoin.reject(this.#stopping.signal.reason);
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  async #openSession(): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    const session: ConsumerSession = new ConsumerSession(
      this.#connect,
      this.#options,
      this.#session,
      {
        joined: (assignment) => this.#joined(assignment),
        fetched: (batch) => this.#listener?.fetched(batch),
        heard: (atMs) => {
          this.#lastHeardMs = Math.max(this.#lastHeardMs, atMs);
        },
        ended: (reason, error) => void this.#sessionEnded(session, reason, error),
      },
      this.#logger,
    );
    this.#session = session;
    try {
      await session.open();
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  #joined(assignment: Assignment): void {
    this.#joinedMs ??= performance.now();
    this.#unjoined = 0;
    this.#joinedOnce = true;
    this.#firstJoin.resolve();
    this.#listener?.joined(assignment);
  }

  #reportLoss(reason: string, error: unknown): void {
    const { topic, partition, offset } = Object(error);
    this.#logger.warn({ reason, topic, partition, offset }, 'lost the group: joining again');
    this.#tell(reason);
  }

  #tell(reason: string): void {
    try {
      this.#listener?.left(reason);
    } catch (error) {
      this.#logger.error(
        { error: explain(error) },
        'the listener failed to handle the loss of the group',
      );
    }
  }

  /** Never rejects. */
  async #sessionEnded(session: ConsumerSession, reason: string, error: unknown): Promise<void> {
    if (this.#stopping.signal.aborted || this.#session !== session) return;
    if (this.#joinedMs !== undefined && performance.now() - this.#joinedMs >= HEALTHY_MS)
      this.#failures = 0;
    const { restartDelayMs } = this.#options;
    const unjoinedDelayMs = () =>
      Math.min(restartDelayMs * 2 ** this.#unjoined++, MAX_UNJOINED_DELAY_MS);
    let delayMs =
      this.#joinedMs === undefined
        ? unjoinedDelayMs()
        : Math.min(restartDelayMs * 2 ** this.#failures++, MAX_RESTART_DELAY_MS);
    this.#joinedMs = undefined;
    if (this.#joinedOnce) this.#reportLoss(reason, error);
    else if (
      SOON_OVER.test(protocolErrorOf(error) ?? '') &&
      performance.now() < this.#startBeforeMs
    ) {
      this.#logger.warn({ reason }, 'the consumer group cannot be joined yet: retrying');
    } else {
      this.#firstJoin.reject(new Error(reason, { cause: error }));
      return;
    }
    await session.close();
    while (!this.#stopping.signal.aborted) {
      // Random, so that replicas do not reconnect at the same time.
      await sleep(delayMs * (0.5 + Math.random() / 2), undefined, {
        signal: this.#stopping.signal,
      }).catch(() => undefined);
      delayMs = unjoinedDelayMs();
      try {
        await this.#openSession();
        return;
      } catch (error) {
        if (!this.#joinedOnce && performance.now() >= this.#startBeforeMs) {
          this.#firstJoin.reject(error);
          return;
        }
        if (this.#stopping.signal.aborted) return;
        const reason = explain(error);
        this.#logger.warn({ error: reason }, 'could not join the consumer group: retrying');
        if (this.#joinedOnce) this.#tell(reason);
      }
    }
  }
}
