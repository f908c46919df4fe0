/** A member of a pipeline's consumer group (ShardGroup): sessions of a consumer, one after another, until it is stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../../base/abortable.ts';
import type { Assignment, GroupListener, ShardGroup, Stream } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { ConnectOptions } from '../client/connect.ts';
import { explain, protocolErrorOf } from '../client/errors.ts';
import { ConsumerSession } from './consumer-session.ts';
import type { GroupOptions } from './group-options.ts';

const MAX_RESTART_DELAY_MS = 30_000;
/** A session that lasted this long after its join was healthy: its end is a new failure, not one more of a series. */
const HEALTHY_MS = 10_000;
/** How soon an unconfirmed membership is asked about again, when no join comes first. */
const CONFIRM_RETRY_MS = 250;
/** How long a first join is tried while the group's coordinator starts or moves. */
const START_PATIENCE_MS = 60_000;
/** What a coordinator says that has just started or moved: after a broker died, for one. kafkajs gives up within a second or two. */
const SOON_OVER = new Set([
  'GROUP_LOAD_IN_PROGRESS',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR_FOR_GROUP',
]);

export class KafkaShardGroup implements ShardGroup {
  readonly #connect: ConnectOptions;
  readonly #options: GroupOptions;
  readonly #logger: Logger;
  readonly #stopping = new AbortController();
  #listener: GroupListener | undefined;
  #session: ConsumerSession | undefined;
  #stopped: Promise<void> | undefined;
  #lastHeardMs = Number.NEGATIVE_INFINITY;
  /** Sessions in a row that ended soon after their join, or never joined. */
  #failures = 0;
  /** On the monotonic clock, ms: the first join of the current session. */
  #joinedMs: number | undefined;
  #joinedOnce = false;
  #startBeforeMs = 0;
  readonly #firstJoin = Promise.withResolvers<void>();

  constructor(connect: ConnectOptions, options: GroupOptions, logger: Logger) {
    this.#connect = connect;
    this.#options = options;
    this.#logger = logger.child({ groupId: options.groupId });
    this.#firstJoin.promise.catch(() => undefined);
  }

  async start(listener: GroupListener): Promise<void> {
    if (this.#listener !== undefined) throw new Error('this group was started before');
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

  lastHeardMs(): number {
    return this.#lastHeardMs;
  }

  async confirmMembership(signal: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([signal, this.#stopping.signal]);
    for (;;) {
      ended.throwIfAborted();
      const heartbeat = this.#session?.heartbeat().then(
        () => true,
        // The fetch loop sees the same and joins again.
        () => false,
      );
      // During a rebalance a heartbeat waits behind the join.
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
      this.#session?.history,
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
    this.#joinedOnce = true;
    this.#logger.info(
      { generation: assignment.generation, shards: [...assignment.shards.keys()] },
      'joined the group',
    );
    this.#firstJoin.resolve();
    this.#listener?.joined(assignment);
  }

  #tellLoss(reason: string, error: unknown): void {
    this.#logger.warn({ reason, ...placeOf(error) }, 'lost the group: joining again');
    try {
      this.#listener?.left(reason);
    } catch (error) {
      this.#logger.error(
        { error: explain(error) },
        'the listener failed when it was told that the group was lost',
      );
    }
  }

  /** Never rejects. */
  async #sessionEnded(session: ConsumerSession, reason: string, error: unknown): Promise<void> {
    if (this.#stopping.signal.aborted || this.#session !== session) return;
    if (this.#joinedMs !== undefined && performance.now() - this.#joinedMs >= HEALTHY_MS)
      this.#failures = 0;
    this.#joinedMs = undefined;
    if (this.#joinedOnce) this.#tellLoss(reason, error);
    else if (isSoonOver(error) && performance.now() < this.#startBeforeMs) {
      this.#logger.warn({ reason }, 'the group cannot be joined yet: trying again');
    } else {
      this.#firstJoin.reject(new Error(reason, { cause: error }));
      return;
    }
    await session.close();
    while (!this.#stopping.signal.aborted) {
      const delayMs = Math.min(
        (this.#options.restartDelayMs ?? 500) * 2 ** this.#failures++,
        MAX_RESTART_DELAY_MS,
      );
      // Never two replicas in step.
      await sleep(delayMs * (0.5 + Math.random() / 2), undefined, {
        signal: this.#stopping.signal,
      }).catch(() => undefined);
      try {
        await this.#openSession();
        return;
      } catch (error) {
        if (!this.#joinedOnce && performance.now() >= this.#startBeforeMs) {
          this.#firstJoin.reject(error);
          return;
        }
        if (!this.#stopping.signal.aborted)
          this.#logger.warn({ error: explain(error) }, 'could not join the group: trying again');
      }
    }
  }
}

/** The topic, partition and offset that an error or one of its causes names. */
function placeOf(error: unknown): {
  readonly topic?: string;
  readonly partition?: number;
  readonly offset?: string | number;
} {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    const { topic, partition, offset } = at as {
      topic?: unknown;
      partition?: unknown;
      offset?: unknown;
    };
    if (typeof topic !== 'string' || typeof partition !== 'number') continue;
    return {
      topic,
      partition,
      ...(typeof offset === 'string' || typeof offset === 'number' ? { offset } : {}),
    };
  }
  return {};
}

function isSoonOver(error: unknown): boolean {
  const type = protocolErrorOf(error);
  return type !== undefined && SOON_OVER.has(type);
}
