/** Single decisions (service-interface.md 2.6). */
import type { Clock } from '../base/clock.ts';
import type { DecisionView } from '../service/answers.ts';
import type { ServiceClient } from '../service/client.ts';
import { withPublicErrors } from './errors.ts';
import { type CallOptions, signalOf } from './options.ts';
import { type WaitOptions, waitUntil } from './wait.ts';

export class Decisions {
  readonly #service: ServiceClient;
  readonly #clock: Clock;
  readonly #closed: AbortSignal;

  /** @param closed aborts when the client is closed. */
  constructor(service: ServiceClient, clock: Clock, closed: AbortSignal) {
    this.#service = service;
    this.#clock = clock;
    this.#closed = closed;
  }

  get(decisionId: string, options?: CallOptions): Promise<DecisionView> {
    return withPublicErrors(
      this.#service.getDecision(decisionId, { signal: signalOf(options, this.#closed) }),
    );
  }

  /** Waits for SUCCESS or ERROR. A status that nobody knows is waited on. */
  waitFor(decisionId: string, options: WaitOptions<DecisionView> = {}): Promise<DecisionView> {
    return waitUntil(
      this.#clock,
      decisionId,
      { ...options, signal: signalOf(options, this.#closed) },
      (signal) => this.get(decisionId, { signal }),
      ({ status }) => status === 'SUCCESS' || status === 'ERROR',
    );
  }
}
