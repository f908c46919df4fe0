/** A batch on its way to the service, before it is a job. */
import type { LiveJob } from '../core/job.ts';
import type { ContentItem } from '../core/record.ts';
import type { Held } from './in-hand.ts';
import type { BatchMemory } from './memory-budget.ts';
import type { Place } from './output-turns.ts';
import type { GatePass } from './type-gates.ts';

export interface Submission {
  readonly type: string;
  /** Let go as soon as the body is encoded. */
  items: readonly ContentItem[];
  /** Of the items. */
  readonly bytes: number;
  /** Wall clock, ms: when the oldest item arrived (first submissions). */
  readonly sinceMs: number;
  /** The job that these items leave, for another attempt; undefined for a first submission. */
  readonly from?: LiveJob;
  /** What holds the items of a first submission until they are in a job. */
  readonly held?: Held;
  readonly attempt: number;
  readonly depth: number;
  readonly spent: number;
  /** Among the first submissions of its type; taken when it was sealed. */
  place?: Place;
  /** What the gate of the type gave to items that were read again: they wait there before they are read. */
  readonly pass?: GatePass;
  readonly memory: BatchMemory;
}
