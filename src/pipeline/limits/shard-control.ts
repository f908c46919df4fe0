/**
 * Commands of an operator as the owner of one shard obeys them (core/journal/control.ts, ADR 0030):
 * whether intake takes records in, which types are submitted, and what is acknowledged.
 */
import { abortable } from '../../base/abortable.ts';
import type { Clock } from '../../base/clock.ts';
import {
  type Acknowledgement,
  type Control,
  type ControlScope,
  inForce,
  sameAnswer,
} from '../../core/journal/control.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { ShardWaits } from './shard-waits.ts';

/** Longest time without a look at the wall clock, which may be set while a timer runs. */
const LOOK_MS = 60_000;

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
  #scopes: readonly ControlScope[] = [];
  #changed = Promise.withResolvers<void>();
  #listener: () => void = () => {};
  #endWait: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;

  /** @param acknowledged the newest acknowledgement in the journal, also of an earlier owner */
  constructor(deps: ControlDeps, control: Control, acknowledged: Acknowledgement | undefined) {
    this.#deps = deps;
    this.#control = control;
    this.#acknowledged = acknowledged;
    deps.signal.addEventListener('abort', () => this.#look(), { once: true });
    this.#look();
  }

  /** @param listener called when another command, or none, is in force */
  listen(listener: () => void): void {
    this.#listener = listener;
  }

  apply(control: Control): void {
    this.#control = control;
    this.#deps.logger.info({ ...control }, 'read a command of the operator');
    this.#look();
    this.#listener();
  }

  get revision(): number {
    return this.#control.revision;
  }

  /** Commands that are in force now. */
  get scopes(): readonly ControlScope[] {
    return this.#scopes;
  }

  get state(): ControlState {
    return this.stateOf(undefined);
  }

  /** @param type undefined: the pipeline */
  stateOf(type: string | undefined): ControlState {
    const state = this.#of(type)?.state ?? 'running';
    const { revision, drained, types = [] } = this.#acknowledged ?? {};
    const isReached = type === undefined ? drained : types.includes(type);
    return state === 'draining' && isReached && revision === this.revision ? 'drained' : state;
  }

  /** False while the pipeline is paused or drained. */
  get takesIn(): boolean {
    return this.#of(undefined) === undefined;
  }

  /**
   * Returns true if no job of the type may begin.
   * @param isRetry the records are in a job, which a drain of its type awaits
   */
  holds(type: string, isRetry: boolean): boolean {
    const state = this.#of(type)?.state;
    return (
      this.#of(undefined)?.state === 'paused' ||
      state === 'paused' ||
      (state === 'draining' && !isRetry)
    );
  }

  /** Resolves when a job of the type may begin. @throws the signal's reason */
  async permits(type: string, isRetry: boolean): Promise<void> {
    if (!this.holds(type, isRetry)) return;
    const released = this.#until(() => !this.holds(type, isRetry));
    await released.finally(this.#deps.waits.begin('paused', `type ${type}`));
  }

  /** Resolves when records are taken in. @throws the signal's reason */
  takingIn(): Promise<void> {
    return this.#until(() => this.takesIn);
  }

  /**
   * Returns the acknowledgement to write, in the transaction that is being built.
   * @param inHand records that intake has taken and that are in no job
   * @returns undefined if the newest says so already
   */
  answer(state: ShardState, inHand: number): Acknowledgement | undefined {
    if (this.revision === 0) return undefined;
    const draining = this.#of(undefined)?.state === 'draining';
    const live = new Set([...state.jobs.values()].map(({ record }) => record.type));
    const types = this.#scopes.flatMap((scope) =>
      scope.state === 'draining' && scope.type !== undefined && !live.has(scope.type)
        ? [scope.type]
        : [],
    );
    const answer = {
      revision: this.revision,
      atMs: this.#deps.clock.now(),
      drained: draining && inHand === 0 && state.isAtRest,
      types: types.sort(),
      scopes: this.#scopes,
    };
    if (sameAnswer(this.#acknowledged, answer)) return undefined;
    this.#acknowledged = answer;
    return answer;
  }

  #of(type: string | undefined): ControlScope | undefined {
    return this.#scopes.find((scope) => scope.type === type);
  }

  async #until(reached: () => boolean): Promise<void> {
    while (!reached()) await abortable(this.#changed.promise, this.#deps.signal);
  }

  /** Finds out what is in force now, and looks again when the first scope ends. */
  #look(): void {
    const { clock, signal, waits } = this.#deps;
    this.#cancelTimer?.();
    this.#scopes = inForce(this.#control, clock.now());
    if (this.takesIn || signal.aborted) {
      this.#endWait?.();
      this.#endWait = undefined;
    } else this.#endWait ??= waits.begin('paused');
    if (signal.aborted) return;
    const ends = this.#scopes.flatMap(({ untilMs }) => untilMs ?? []);
    if (ends.length > 0) {
      const nextMs = Math.min(...ends) - clock.now();
      this.#cancelTimer = clock.after(Math.min(LOOK_MS, Math.max(0, nextMs)), () => {
        const scopes = this.#scopes;
        this.#look();
        if (this.#scopes.length < scopes.length) this.#listener();
      });
    }
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
