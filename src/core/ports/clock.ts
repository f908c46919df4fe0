/** Time and chance as inputs, so that a test can own both. */
export interface Clock {
  /** Wall clock, whole milliseconds since the epoch. */
  now(): number;
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
