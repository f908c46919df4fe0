/**
 * Readiness of the service: the conditions `service` (it responds) and `api_key` (it accepts the
 * key). Requests for an unknown object test both, at the start and after a failed call, until one
 * succeeds. The conditions are therefore correct even while no pipeline has work
 * (docs/endpoints.md).
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../packages/client/src/base/clock.ts';
import { ServiceError } from '../../packages/client/src/base/service-error.ts';
import type { ContentReviewClient } from '../../packages/client/src/client.ts';
import type { HealthReporter, Logger } from '../core/ports/telemetry.ts';
import { KEY_CONDITION, SERVICE_CONDITION } from '../core/service-names.ts';

/** Wait before the first probe after a failure, and maximum wait. Waits double in between. */
const FIRST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 10_000;
/** Operations that are calls to baseUrl. Transfers go to other hosts. */
const OF_THE_API = /^(create|get)_/;
/** Time after which shards are taken even if the service cannot be reached. */
const OUTAGE_MS = 10_000;

interface ServiceProbeDeps {
  /** Rejects unless the service responds and accepts the key. See `requestUnknown`. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  readonly health: Pick<HealthReporter, 'ready' | 'notReady'>;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Requests an object that does not exist. @throws ServiceError, including `not_found` */
export async function requestUnknown(
  client: ContentReviewClient,
  kind: string,
  signal: AbortSignal,
): Promise<void> {
  const id = randomUUID();
  if (kind === 'review') await client.getBatch(id, { signal });
  else if (kind === 'import') await client.getImport(id, { signal });
  else await client.getDecision(id, { signal });
}

export class ServiceProbe {
  readonly #deps: ServiceProbeDeps;
  readonly #closing = new AbortController();
  /** Aborting it ends the current probing. undefined while the service is well. */
  #probing: AbortController | undefined;
  readonly #accepted = Promise.withResolvers<void>();
  /** True after a probe in which the key was refused, until the service accepts the key. */
  #isRefused = false;
  #takesShards = false;

  constructor(deps: ServiceProbeDeps) {
    this.#deps = deps;
  }

  /** Sets both conditions to not ready. They become ready when a probe or a pipeline's call succeeds. */
  start(): void {
    const { health } = this.#deps;
    health.notReady(SERVICE_CONDITION, 'not reached yet');
    health.notReady(KEY_CONDITION, 'not tried yet: the service has not responded');
    this.#begin(0);
  }

  /**
   * Resolves when shards may be taken: once the service has accepted the key, or if it cannot be
   * reached for a while. A replica whose key is refused stays out of the group, so that other
   * replicas keep their shards.
   * @throws the signal's reason
   */
  async untilAccepted(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    try {
      await Promise.race([
        this.#accepted.promise,
        this.#untilOutage(AbortSignal.any([signal, over.signal])),
      ]);
      this.#takesShards = true;
    } finally {
      over.abort(new Error('the wait for the service is over'));
    }
  }

  async #untilOutage(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    for (let isLogged = false; ; isLogged = true) {
      await clock.sleep(OUTAGE_MS, signal);
      if (!this.#isRefused) break;
      if (!isLogged) logger.error({}, 'API key refused; joining the group once it is accepted');
    }
    logger.warn({}, 'the service has not accepted a request yet; joining the group nevertheless');
  }

  /**
   * Updates the conditions after a call of a pipeline.
   * @param code HTTP status, or the reason why there is none, as in `ServiceObserver`
   */
  called(operation: string, code: string): void {
    if (!OF_THE_API.test(operation) || code === 'aborted' || code === 'blocked') return;
    // A missing object is a valid response for every call except a create.
    const isAnswer = /^(404|410)$/.test(code) && !operation.startsWith('create_');
    if (/^40[13]$/.test(code)) this.#begin(0);
    else if (/^2..$/.test(code) || isAnswer) this.#well();
    else if (!/^[34]..$/.test(code)) this.#begin(FIRST_WAIT_MS);
  }

  /** Returns the consequence that a refused key has for the shards. */
  get #consequence(): string {
    return this.#takesShards
      ? 'this replica keeps its shards, and their records wait until the key is accepted'
      : 'this replica takes no shards before the key is accepted';
  }

  close(): void {
    this.#closing.abort(new Error('the connector is stopping'));
  }

  #well(): void {
    this.#probing?.abort(new Error('a call has succeeded'));
    this.#probing = undefined;
    this.#isRefused = false;
    this.#accepted.resolve();
    this.#deps.health.ready(SERVICE_CONDITION);
    this.#deps.health.ready(KEY_CONDITION);
  }

  /** Probes until the service is well. Does nothing if probing is in progress. */
  #begin(afterMs: number): void {
    if (this.#probing !== undefined || this.#closing.signal.aborted) return;
    this.#probing = new AbortController();
    const signal = AbortSignal.any([this.#probing.signal, this.#closing.signal]);
    // Rejects only if its signal is aborted.
    this.#probeUntilWell(afterMs, signal).catch(() => undefined);
  }

  async #probeUntilWell(afterMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    let waitMs = FIRST_WAIT_MS;
    if (afterMs > 0) await clock.sleep(afterMs, signal);
    for (let logged = ''; ; waitMs = Math.min(2 * waitMs, LAST_WAIT_MS)) {
      const problem = await this.#probe(signal);
      if (problem === undefined) return this.#well();
      if (problem !== logged) this.#deps.logger.warn({ error: problem }, 'service is not ready');
      logged = problem;
      await clock.sleep(waitMs, signal);
    }
  }

  /** @returns the problem for operators, or undefined if there is none */
  async #probe(signal: AbortSignal): Promise<string | undefined> {
    const { health } = this.#deps;
    try {
      await this.#deps.probe(signal);
      signal.throwIfAborted();
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) {
        const text = `the service could not be probed: ${(error as Error).message}`;
        health.notReady(SERVICE_CONDITION, text);
        return text;
      }
      const { failure, status, message } = error;
      if (failure === 'not_found' || (failure === 'rejected' && status !== undefined))
        return undefined;
      const isKey = failure === 'unauthorized';
      this.#isRefused ||= isKey;
      if (isKey) health.notReady(KEY_CONDITION, `${message}; ${this.#consequence}`);
      else health.notReady(SERVICE_CONDITION, message);
      // No status: the request was not sent, because the key is unusable. Then `service` stays unchanged.
      if (isKey && status !== undefined) health.ready(SERVICE_CONDITION);
      return message;
    }
  }
}
