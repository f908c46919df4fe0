export interface ChaosOptions {
  /** Duration of the faults, minutes. The run takes longer, until each fault has hit and everything is settled. */
  readonly minutes: number;
  readonly seed: number;
  readonly brokers: 1 | 3;
  /** Records per second over all kinds. */
  readonly rate: number;
  /** Quota of the reviews, rows per minute. Default: none. */
  readonly quota?: number | undefined;
  /** Lifetime of the sessions and tokens of logins, seconds. Default: no logins. */
  readonly reauth?: number | undefined;
  /** Faults to use, from `allFaults`. */
  readonly faults: readonly string[];
  /** Directory for the replicas' logs. They are written at the end of the run in any case. */
  readonly logs?: string | undefined;
  /** Ends the run, which then cleans up and rejects with the signal's reason. */
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}
