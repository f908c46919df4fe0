/**
 * Holds back the creation of batches of a content type that the service refuses, or that keeps failing, or for which it
 * creates none just now (DESIGN 3, 4).
 *
 * Once closed, a gate lets one batch through per pause, a probe, until something of the type succeeds. While a type keeps
 * failing, only the probe's failure says anything about its content: the others fail with the service.
 */
import type { Clock } from '../../base/clock.ts';
import type { GateView } from '../../core/ports/pipeline-view.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { WaitReason, WaitReasons } from './wait-reasons.ts';

/** Failed batches in a row after which a type pauses. */
export const FAILURES_IN_A_ROW = 5;

/** Leave to create a batch. A probe's is the only one of its pause. */
export type GatePass = 'open' | 'probe';

/** Reasons that say something about the type: the service takes others meanwhile. */
const OF_THE_TYPE: ReadonlySet<WaitReason> = new Set(['type_rejected', 'type_failing']);

interface Gate {
  /** Failed batches in a row. */
  failures: number;
  /** They were enough for a pause. */
  failing: boolean;
  /** Creates in a row that the service did not answer as it should. */
  unanswered: number;
  /** When it was last logged that the type keeps failing. */
  loggedMs: number;
  /** 0: open. */
  closedUntilMs: number;
  reason: WaitReason;
  /** Its outstanding probe: let through, and not answered yet. */
  probe: { readonly signal: AbortSignal; readonly unwatch: () => void } | undefined;
  /** In the order in which they came. */
  readonly waiting: Set<() => void>;
  cancelTimer: (() => void) | undefined;
}

export class TypeBreakers {
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
    this.#close(this.#gate(type), 'type_rejected', this.#pauseMs);
    this.#logger.error(
      { type, pauseMs: this.#pauseMs, error: message },
      'the service refuses this content type; its records wait',
    );
  }

  /**
   * A batch of this type failed as a whole.
   * @param enough so many in a row are enough for a pause
   * @returns whether the type keeps failing, so that the failure of a batch other than the probe is no evidence against its content.
   */
  failed(type: string, enough = FAILURES_IN_A_ROW): boolean {
    const gate = this.#gate(type);
    gate.failures++;
    if (!gate.failing && gate.failures < enough) return false;
    gate.failing = true;
    this.#close(gate, 'type_failing', this.#pauseMs);
    // Batches that were under way when the gate closed fail too.
    if (this.#clock.monotonic() - gate.loggedMs < this.#pauseMs) return true;
    gate.loggedMs = this.#clock.monotonic();
    this.#logger.error(
      { type, failures: gate.failures, pauseMs: this.#pauseMs },
      'batches of this content type keep failing; its records wait',
    );
    return true;
  }

  /**
   * The service could not be asked to create a batch of this type, for a reason that says nothing about the type: one batch asks
   * again after a while, and the others wait for its answer.
   * @param waitMs how long, ms, by how often in a row this happened before
   */
  unanswered(type: string, reason: WaitReason, waitMs: (before: number) => number): void {
    const gate = this.#gate(type);
    this.#close(gate, reason, waitMs(gate.unanswered++));
  }

  /** Something of this type was decided. */
  succeeded(type: string): void {
    const gate = this.#gates.get(type);
    this.#gates.delete(type);
    if (gate !== undefined) this.#open(gate);
  }

  /** The service took a batch of this type: it does not refuse it any more. */
  accepted(type: string): void {
    const gate = this.#gates.get(type);
    if (gate === undefined) return;
    gate.unanswered = 0;
    if (!gate.failing) this.#open(gate);
    else if (gate.reason !== 'type_failing') this.#close(gate, 'type_failing', this.#pauseMs);
  }

  /**
   * Asked right before a batch is created. `undefined`: not now, wait with `open`. A probe closes the gate behind itself.
   * @param signal when it aborts before the probe was answered, the next batch is the probe
   */
  enter(type: string, signal: AbortSignal): GatePass | undefined {
    const gate = this.#gates.get(type);
    if (gate === undefined || gate.closedUntilMs === 0) return 'open';
    if (this.#clock.monotonic() < gate.closedUntilMs) return undefined;
    gate.closedUntilMs = this.#clock.monotonic() + this.#pauseMs;
    const lost = () => this.returned(type, signal);
    signal.addEventListener('abort', lost, { once: true });
    gate.probe = { signal, unwatch: () => signal.removeEventListener('abort', lost) };
    return 'probe';
  }

  /** The probe of `signal` ended without asking the service. Does nothing once an answer came. */
  returned(type: string, signal: AbortSignal): void {
    const gate = this.#gates.get(type);
    if (gate?.probe?.signal !== signal) return;
    this.#answered(gate);
    gate.closedUntilMs = this.#clock.monotonic();
    this.#wake(gate);
  }

  /** Whether batches of this type may be created freely. */
  isOpen(type: string): boolean {
    return (this.#gates.get(type)?.closedUntilMs ?? 0) === 0;
  }

  /** Whether the type is held back now while others are not, for as long as it takes. */
  holds(type: string): boolean {
    const gate = this.#gates.get(type);
    return (
      gate !== undefined &&
      gate.closedUntilMs > this.#clock.monotonic() &&
      OF_THE_TYPE.has(gate.reason)
    );
  }

  /** Resolves when a batch may be created, with leave to do so. @throws the signal's reason */
  async pass(type: string, signal: AbortSignal): Promise<GatePass> {
    for (;;) {
      await this.open(type, signal);
      const pass = this.enter(type, signal);
      if (pass !== undefined) return pass;
    }
  }

  /** Resolves when batches of this type may be created, in the order of the calls. @throws the signal's reason */
  async open(type: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const gate = this.#gates.get(type);
      if (gate === undefined || gate.closedUntilMs <= this.#clock.monotonic()) return;
      const over = Promise.withResolvers<void>();
      signal.addEventListener('abort', over.resolve as () => void, { once: true });
      gate.waiting.add(over.resolve);
      this.#arm(gate);
      const done = this.#waits.begin(gate.reason, `type ${type}`);
      try {
        await over.promise;
      } finally {
        done();
        signal.removeEventListener('abort', over.resolve as () => void);
        gate.waiting.delete(over.resolve);
        this.#arm(gate);
      }
    }
  }

  /** Types that are held back. */
  *held(): Generator<GateView> {
    const aheadMs = this.#clock.now() - this.#clock.monotonic();
    for (const [type, { reason, failures, closedUntilMs }] of this.#gates)
      if (closedUntilMs > 0) yield { type, reason, failures, nextTryMs: closedUntilMs + aheadMs };
  }

  #gate(type: string): Gate {
    let gate = this.#gates.get(type);
    if (gate === undefined) {
      gate = {
        failures: 0,
        failing: false,
        unanswered: 0,
        loggedMs: Number.NEGATIVE_INFINITY,
        closedUntilMs: 0,
        reason: 'type_failing',
        probe: undefined,
        waiting: new Set(),
        cancelTimer: undefined,
      };
      this.#gates.set(type, gate);
    }
    return gate;
  }

  #close(gate: Gate, reason: WaitReason, forMs: number): void {
    const changed = gate.reason !== reason;
    gate.reason = reason;
    this.#answered(gate);
    gate.closedUntilMs = this.#clock.monotonic() + forMs;
    // Those who wait report why.
    if (changed) this.#wake(gate);
    else this.#arm(gate);
  }

  #open(gate: Gate): void {
    gate.closedUntilMs = 0;
    this.#answered(gate);
    this.#wake(gate);
  }

  #answered(gate: Gate): void {
    gate.probe?.unwatch();
    gate.probe = undefined;
  }

  #wake(gate: Gate): void {
    for (const look of [...gate.waiting]) look();
  }

  /** One timer for all: a batch that failed as a probe and waits again comes after those that waited before. */
  #arm(gate: Gate): void {
    gate.cancelTimer?.();
    const waitMs = gate.closedUntilMs - this.#clock.monotonic();
    gate.cancelTimer =
      gate.waiting.size === 0
        ? undefined
        : this.#clock.after(Math.max(0, waitMs), () => this.#wake(gate));
  }
}
