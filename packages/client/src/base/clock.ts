/** Time and chance as inputs, so that a test can own both. */
export interface Clock {
  /** Wall clock, whole milliseconds since the epoch. */
  now(): number;
  /**
   * Milliseconds since some moment of this process, for intervals in it: no correction of the wall clock moves them. The wall clock is
   * for what other processes know: timestamps of Kafka, times in the journal and in records.
   */
  monotonic(): number;
  /** Runs `fire` once after `ms`. Returns what cancels it. Must not keep the process alive by itself. */
  after(ms: number, fire: () => void): () => void;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A new unique id (job ids, claim ids). */
  id(): string;
}
