/**
 * Holds back the creation of batches of a content type that the service refuses, or that keeps failing (DESIGN 3, 4).
 *
 * Once closed, a gate lets one batch through per pause, a probe, until something of the type succeeds. While a type keeps
 * failing, only the probe's failure says anything about its content: the others fail with the service.
 */
import type { Clock } from '../core/ports/clock.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import type { WaitReason, WaitReasons } from './wait-reasons.ts';

/** Failed batches in a row after which a type pauses. */
export const FAILURES_IN_A_ROW = 5;

interface Gate {
  failures: number;
  closedUntilMs: number;
  reason: WaitReason;
}

export class TypeGates {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waits: WaitReasons;
  readonly #pauseMs: number;
  readonly #gates = new Map<string, Gate>();

  constructor(deps: { clock: Clock; logger: Logger; waits: WaitReasons; pauseMs: number }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#waits = deps.waits;
    this.#pauseMs = deps.pauseMs;
  }

  /** The service refused to create a batch of this type, and its records are to wait. */
  rejected(type: string, message: string): void {
    this.#close(type, 'type_rejected');
    this.#logger.error(
      { type, pauseMs: this.#pauseMs, error: message },
      'the service refuses this content type; its records wait',
    );
  }

  /**
   * A batch of this type failed as a whole. @returns whether the type keeps failing, so that the failure of a batch other
   * than the probe is no evidence against its content.
   */
  failed(type: string): boolean {
    const gate = this.#gates.get(type) ?? { failures: 0, closedUntilMs: 0, reason: 'type_failing' };
    gate.failures++;
    this.#gates.set(type, gate);
    if (gate.failures < FAILURES_IN_A_ROW) return false;
    this.#close(type, 'type_failing');
    this.#logger.error(
      { type, failures: gate.failures, pauseMs: this.#pauseMs },
      'batches of this content type keep failing; its records wait',
    );
    return true;
  }

  succeeded(type: string): void {
    this.#gates.delete(type);
  }

  /** The service took a batch of this type: it does not refuse it any more. */
  accepted(type: string): void {
    if (this.#gates.get(type)?.reason === 'type_rejected') this.#gates.delete(type);
  }

  /** Asked right before a batch is created. `undefined`: not now, wait with `open`. A probe closes the gate behind itself. */
  enter(type: string): 'open' | 'probe' | undefined {
    const gate = this.#gates.get(type);
    if (gate === undefined || gate.closedUntilMs === 0) return 'open';
    if (this.#clock.now() < gate.closedUntilMs) return undefined;
    gate.closedUntilMs = this.#clock.now() + this.#pauseMs;
    return 'probe';
  }

  /** Resolves when batches of this type may be created. @throws the signal's reason */
  async open(type: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      const gate = this.#gates.get(type);
      const waitMs = (gate?.closedUntilMs ?? 0) - this.#clock.now();
      if (gate === undefined || waitMs <= 0) return;
      const done = this.#waits.begin(gate.reason, `type ${type}`);
      try {
        await this.#clock.sleep(waitMs, signal);
      } finally {
        done();
      }
    }
  }

  #close(type: string, reason: WaitReason): void {
    const gate = this.#gates.get(type) ?? { failures: 0, closedUntilMs: 0, reason };
    gate.reason = reason;
    gate.closedUntilMs = this.#clock.now() + this.#pauseMs;
    this.#gates.set(type, gate);
  }
}
