import type { DecisionView } from '../service/answers.ts';
import type { Calls } from './calls.ts';
import type { ClientCallOptions, WaitOptions } from './options.ts';

/**
 * Single decisions.
 *
 * @example
 * const { status, result, labels } = await client.decisions.get('1f750778-0');
 */
export class DecisionResource {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Returns a decision. @throws NotFoundError; other ContentReviewErrors. */
  get(decisionId: string, options?: ClientCallOptions): Promise<DecisionView> {
    return this.#calls.run(options, (service, call) => service.getDecision(decisionId, call));
  }

  /**
   * Waits for SUCCESS or ERROR. Waits on at an unknown status.
   * @throws WaitTimeoutError after `timeoutMs`; other ContentReviewErrors.
   */
  waitFor(decisionId: string, options: WaitOptions<DecisionView> = {}): Promise<DecisionView> {
    return this.#calls.wait(
      decisionId,
      options,
      (call) => this.get(decisionId, call),
      ({ status }) => status === 'SUCCESS' || status === 'ERROR',
    );
  }
}
