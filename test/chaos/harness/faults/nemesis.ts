/** Fault as the schedule runs it. */
import type { SeededRandom } from '../../../support/memory/clock.ts';
import type { World } from '../world.ts';

export interface Strike {
  /**
   * True if it really did something, while work was in flight. A strike that did not is made again.
   */
  readonly hit: boolean;
  /** For the report. */
  readonly note?: string;
  /** `performance.now()` at which the session of a member that vanished ends: recovery cannot come before. */
  readonly sessionEndsMs?: number;
}

/** Strikes once, and has everything as it was (or as it is to stay) when it resolves. Rejects when the world does not answer. */
export type Nemesis = (world: World, random: SeededRandom) => Promise<Strike>;
