/** Decisions of lookups at the service in memory. */
import type { Clock } from '../../../../packages/client/src/base/clock.ts';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import type { FoundDecision, LookupService } from '../../../../src/kinds/service-ports.ts';
import type { ServiceScript } from './review-service.ts';
import type { ServiceCalls } from './service-calls.ts';

/** Failures that give no information about a decision. */
const SENSELESS: ReadonlySet<string> = new Set(['protocol', 'too_large', 'expired']);

interface Made {
  readonly decision: FoundDecision;
  /** Wall clock time until which the decision is pending, ms. */
  dueMs: number;
}

/** All decisions, with a record of the responses that instances got. */
export class Decisions {
  readonly #made = new Map<string, Made>();
  readonly #longestWithoutMs = new Map<string, number>();
  readonly #unreadable = new Set<string>();

  make(id: string, decision: FoundDecision, dueMs: number): void {
    this.#made.set(id, { decision, dueMs });
  }

  get(id: string): Made | undefined {
    return this.#made.get(id);
  }

  /** Makes all pending decisions final. */
  finishAll(nowMs: number): void {
    for (const made of this.#made.values()) made.dueMs = Math.min(made.dueMs, nowMs);
  }

  /** Longest time in ms during which one instance got only `not_found` or `rejected` for the decision, or undefined. */
  withoutMs(id: string): number | undefined {
    return this.#longestWithoutMs.get(id);
  }

  /** True if an instance got an unreadable response for the decision. */
  wasUnreadable(id: string): boolean {
    return this.#unreadable.has(id);
  }

  toldNonsense(id: string): void {
    this.#unreadable.add(id);
  }

  toldNothing(id: string, forMs: number): void {
    this.#longestWithoutMs.set(id, Math.max(forMs, this.#longestWithoutMs.get(id) ?? 0));
  }
}

/** Lookup service of one instance. */
export class MemoryDecisions implements LookupService {
  readonly #decisions: Decisions;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #calls: ServiceCalls;
  readonly #script: ServiceScript;
  /** Time of the first `not_found` or `rejected` since the decision was last found. */
  readonly #withoutSinceMs = new Map<string, number>();

  constructor(
    decisions: Decisions,
    clock: Pick<Clock, 'monotonic'>,
    calls: ServiceCalls,
    script: ServiceScript,
  ) {
    this.#decisions = decisions;
    this.#clock = clock;
    this.#calls = calls;
    this.#script = script;
  }

  async getDecision(
    id: string,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<FoundDecision> {
    try {
      const found = await this.#calls.call('decision', signal, id, undefined, () =>
        this.#answer(id),
      );
      this.#withoutSinceMs.delete(id);
      return found;
    } catch (error) {
      if (
        error instanceof ServiceError &&
        (error.failure === 'not_found' || error.failure === 'rejected')
      )
        this.#without(id);
      if (error instanceof ServiceError && SENSELESS.has(error.failure))
        this.#decisions.toldNonsense(id);
      throw error;
    }
  }

  #answer(id: string): FoundDecision {
    const made = this.#decisions.get(id);
    if (made === undefined)
      throw new ServiceError('not_found', 'no such decision', {
        operation: 'get_decision',
        status: 404,
      });
    const { decision, dueMs } = made;
    const rawStatus =
      this.#script.decisionStatus?.(id) ??
      (this.#clock.monotonic() < dueMs ? 'PENDING' : decision.rawStatus);
    return rawStatus === decision.rawStatus
      ? decision
      : { ...decision, rawStatus, result: null, labelsJson: null };
  }

  #without(id: string): void {
    const nowMs = this.#clock.monotonic();
    const sinceMs = this.#withoutSinceMs.get(id) ?? nowMs;
    this.#withoutSinceMs.set(id, sinceMs);
    this.#decisions.toldNothing(id, nowMs - sinceMs);
  }
}
