import type { Kind } from '../load/pipelines.ts';

export interface ChaosOptions {
  /**
   * Duration of the faults; the run takes longer: until each fault has hit, and everything is
   * settled.
   */
  readonly minutes: number;
  readonly seed: number;
  readonly brokers: 1 | 3;
  /** Records a second, of all kinds. */
  readonly rate: number;
  /** Kinds of the pipelines; default all. */
  readonly kinds?: readonly [Kind, ...Kind[]];
  /** The faults to use, of allFaults; default those that can hit these pipelines. */
  readonly faults?: readonly string[];
  /** Whether the age of records is measured and judged after each fault, on a quiet machine. Default true. */
  readonly measuresAges?: boolean;
  /** A folder for the replicas' logs, written when the run ends, however it does. */
  readonly logs?: string | undefined;
  /** Ends the run: what was begun is ended and removed, then it rejects with the signal's reason. */
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}
