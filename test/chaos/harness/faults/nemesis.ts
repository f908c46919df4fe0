/** Fault that the schedule can run. */
import type { SeededRandom } from '../../../support/memory/clock.ts';
import type { World } from '../world.ts';

export interface Strike {
  /** True if the fault affected work in flight. Otherwise the schedule repeats the fault. */
  readonly hit: boolean;
  /** Text for the report. */
  readonly note?: string;
  /** `performance.now()` at which the session of a vanished member ends. Recovery cannot finish earlier. */
  readonly sessionEndsMs?: number;
}

/** Injects a fault once and undoes its temporary effects. Rejects if the world does not respond. */
export type Nemesis = (world: World, random: SeededRandom) => Promise<Strike>;
