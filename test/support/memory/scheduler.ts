/** Scheduler of the fakes: a test controls every interleaving. */
export interface Scheduler {
  /** Runs `step` later, never inside this call. Steps of one channel keep their order; channels race with each other. */
  defer(channel: string, step: () => void): void;
}

/**
 * One request and its answer: `apply` runs on the far side as a step of `network`, its outcome reaches the caller as a
 * step of `home`. A home that died never hears the answer, though the request was applied.
 */
export function roundTrip<T>(
  network: Scheduler,
  home: Scheduler,
  channel: string,
  apply: () => T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    network.defer(channel, () => {
      let answer: () => void;
      try {
        const value = apply();
        answer = () => resolve(value);
      } catch (error) {
        answer = () => reject(error);
      }
      home.defer(channel, answer);
    });
  });
}
