/** Scheduler of the fakes, with which a test controls every interleaving. */
export interface Scheduler {
  /** Runs `step` later, never during this call. Steps of one channel keep their order; channels are concurrent. */
  defer(channel: string, step: () => void): void;
}

/**
 * One request and its response: `apply` runs remotely as a step of `network`, and its outcome reaches the caller as
 * a step of `home`. If `home` is killed, the request is applied but its response is lost.
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
