/**
 * Reasons for which parts of a pipeline wait (I8). A gauge and the console show them; long waits
 * are also logged. docs/operating.md explains each reason.
 */
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import type { WaitView } from '../../core/pipeline-view.ts';
import type { Logger, Metrics } from '../../core/ports/telemetry.ts';

export type WaitReason =
  /** The part of the memory budget for intake, or the part for settling and rereading, is used up. */
  | 'memory'
  /** A partition has `source.maxInFlight` unsettled records. */
  | 'in_flight'
  /** The service refuses the API key (401, 403). */
  | 'api_key'
  /** The service is unreachable or overloaded, does not respond, or violates the API contract. */
  | 'service'
  /** The service refuses a content type (400), or its batches keep failing. */
  | 'type_blocked'
  /** An encoding, upload or download takes long, or the maximum number of calls is in flight. */
  | 'transfer'
  /** The schema registry is down or refuses the connector. */
  | 'schema_registry'
  /**
   * The brokers do not respond, a partition has no leader or cannot be read, or the group has not
   * yet confirmed the owner.
   */
  | 'kafka'
  /** All rows that `quota` allows have been submitted, or calls wait for their turn. */
  | 'quota'
  /** An operator has paused or drained the pipeline, or a content type. */
  | 'paused';

/** Minimum duration of a wait that is logged. A wait that recurs within this time continues the previous one. */
export const LONG_MS = 5_000;
/** Interval of repeated log lines about one wait. */
const REMIND_MS = 300_000;
/** Maximum number of waiters that a log line names. */
const NAMED = 8;

/** Waits for one reason, from the first waiter until there has been none for LONG_MS. */
interface Spell {
  readonly sinceMs: number;
  /** Number of waits by waiter. */
  readonly who: Map<string, number>;
  logged: boolean;
  cancelLog: () => void;
  cancelEnd: (() => void) | undefined;
}

/** Outlets for the reports of one pipeline, and its clock. */
export interface ReportDeps {
  readonly metrics: Metrics;
  readonly pipeline: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class WaitReasons {
  readonly #deps: ReportDeps;
  readonly #spells = new Map<WaitReason, Spell>();

  constructor(deps: ReportDeps) {
    this.#deps = deps;
  }

  /**
   * Reports `who` (a shard, a type, …) as waiting until the returned function is called.
   * @param forMs time for which it has already waited
   */
  begin(reason: WaitReason, who: string, forMs = 0): () => void {
    const spell = this.#spell(reason, forMs);
    spell.cancelEnd?.();
    spell.cancelEnd = undefined;
    this.#count(reason, spell, who, 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#count(reason, spell, who, -1);
      if (spell.who.size === 0)
        spell.cancelEnd = this.#deps.clock.after(LONG_MS, () => this.#end(reason, spell));
    };
  }

  /** Returns a function that sets waiters of a reason. Each call replaces the waiters set before. */
  holding(reason: WaitReason): (who: readonly string[]) => void {
    const ends = new Map<string, () => void>();
    return (who) => {
      for (const [one, end] of ends) {
        if (who.includes(one)) continue;
        end();
        ends.delete(one);
      }
      for (const one of who) if (!ends.has(one)) ends.set(one, this.begin(reason, one));
    };
  }

  /** Returns the current reasons for the console, with at most `named` waiters each. */
  view(named: number): WaitView[] {
    const { clock } = this.#deps;
    const aheadMs = clock.now() - clock.monotonic();
    return [...this.#spells]
      .filter(([, { who }]) => who.size > 0)
      .map(([reason, { who, sinceMs }]) => ({
        reason,
        sinceMs: sinceMs + aheadMs,
        waiting: who.size,
        who: [...who.keys()].slice(0, named),
      }));
  }

  #spell(reason: WaitReason, forMs = 0): Spell {
    let spell = this.#spells.get(reason);
    if (spell === undefined) {
      const { clock } = this.#deps;
      const made: Spell = {
        sinceMs: clock.monotonic() - forMs,
        who: new Map(),
        logged: false,
        cancelLog: clock.after(LONG_MS, () => this.#log(reason, made)),
        cancelEnd: undefined,
      };
      spell = made;
      this.#spells.set(reason, spell);
    }
    return spell;
  }

  #count(reason: WaitReason, { who: all }: Spell, who: string, change: 1 | -1): void {
    const count = (all.get(who) ?? 0) + change;
    if (count > 0) all.set(who, count);
    else all.delete(who);
    const { metrics, pipeline } = this.#deps;
    metrics.set('shards_paused', { pipeline, reason }, all.size);
  }

  #log(reason: WaitReason, spell: Spell): void {
    const { clock, logger } = this.#deps;
    const who = [...spell.who.keys()];
    if (who.length > 0) {
      spell.logged = true;
      const about = { reason, waiting: who.length, who: who.slice(0, NAMED) };
      logger.warn({ ...about, seconds: this.#secondsOf(spell) }, 'pipeline stalled');
    }
    spell.cancelLog = clock.after(spell.logged ? REMIND_MS : LONG_MS, () =>
      this.#log(reason, spell),
    );
  }

  #end(reason: WaitReason, spell: Spell): void {
    spell.cancelLog();
    this.#spells.delete(reason);
    if (spell.logged)
      this.#deps.logger.info({ reason, seconds: this.#secondsOf(spell) }, 'pipeline resumed');
  }

  #secondsOf({ sinceMs }: Spell): number {
    return Math.round((this.#deps.clock.monotonic() - sinceMs) / 1000);
  }
}
