/**
 * Operator commands in the owner of one shard (core/journal/control.ts, ADR 0030). They determine
 * whether intake reads records, whether jobs may start, and which state is acknowledged.
 */
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import {
  type Acknowledgement,
  type Control,
  type Hold,
  sameAnswer,
} from '../../core/journal/control.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { ShardWaits } from '../limits/shard-waits.ts';

type ControlState = 'running' | 'paused' | 'draining' | 'drained';

interface ControlDeps {
  readonly clock: Clock;
  readonly waits: ShardWaits;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export class ShardControl {
  readonly #deps: ControlDeps;
  #control: Control;
  #acknowledged: Acknowledgement | undefined;
  #changed = Promise.withResolvers<void>();
  #listener: () => void = () => {};
  #endWait: (() => void) | undefined;

  /** @param acknowledged newest acknowledgement in the journal; it may be from an earlier owner */
  constructor(deps: ControlDeps, control: Control, acknowledged: Acknowledgement | undefined) {
    this.#deps = deps;
    this.#control = control;
    this.#acknowledged = acknowledged;
    deps.signal.addEventListener('abort', () => this.#wake(), { once: true });
    this.#wake();
  }

  /** @param listener called when a new command takes effect */
  listen(listener: () => void): void {
    this.#listener = listener;
  }

  apply(control: Control): void {
    this.#control = control;
    this.#deps.logger.info({ ...control }, 'read an operator command');
    this.#wake();
    this.#listener();
  }

  get revision(): number {
    return this.#control.revision;
  }

  /** Hold that the current command sets. undefined if the pipeline is running. */
  get hold(): Hold | undefined {
    return this.#control.hold;
  }

  get state(): ControlState {
    const state = this.hold?.state ?? 'running';
    const { revision, drained = false } = this.#acknowledged ?? {};
    return state === 'draining' && drained && revision === this.revision ? 'drained' : state;
  }

  /** True if intake may read records. False while the pipeline is paused or drained. */
  get takesIn(): boolean {
    return this.hold === undefined;
  }

  /** True if jobs may start. False while the pipeline is paused. A drain still submits records that were read. */
  get submits(): boolean {
    return this.hold?.state !== 'paused';
  }

  /** Resolves when jobs may start. @throws the signal's reason */
  submitting(): Promise<void> {
    return this.#until(() => this.submits);
  }

  /** Resolves when intake may read records. @throws the signal's reason */
  takingIn(): Promise<void> {
    return this.#until(() => this.takesIn);
  }

  /**
   * Returns the acknowledgement to write in the transaction that is being built.
   * @param inHand number of records that intake has read and that are not in a job
   * @returns undefined if the journal already has this acknowledgement
   */
  answer(state: ShardState, inHand: number): Acknowledgement | undefined {
    if (this.revision === 0) return undefined;
    const answer = {
      ...this.#control,
      atMs: this.#deps.clock.now(),
      drained: this.hold?.state === 'draining' && inHand === 0 && state.isAtRest,
    };
    if (sameAnswer(this.#acknowledged, answer)) return undefined;
    this.#acknowledged = answer;
    return answer;
  }

  async #until(reached: () => boolean): Promise<void> {
    while (!reached()) await abortable(this.#changed.promise, this.#deps.signal);
  }

  #wake(): void {
    const { signal, waits } = this.#deps;
    if (this.takesIn || signal.aborted) {
      this.#endWait?.();
      this.#endWait = undefined;
    } else this.#endWait ??= waits.begin('paused');
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
