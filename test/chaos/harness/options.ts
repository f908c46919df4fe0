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
  /** The faults to use, of ALL_FAULTS. */
  readonly faults: readonly string[];
  /** A folder for the replicas' logs, written when the run ends, however it does. */
  readonly logs?: string | undefined;
  /** Ends the run: what was begun is ended and removed, then it rejects with the signal's reason. */
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}
