import { type Clock, systemClock } from './clock.ts';

/**
 * Settles like `work`, or rejects with the signal's reason as soon as the signal is aborted, even
 * if `work` ignores it.
 * @param late receives a value that arrives after the abort, in order to free its resources
 */
export function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal,
  late: (value: T) => void = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    work.then(
      (value) => {
        signal.removeEventListener('abort', abort);
        if (signal.aborted) late(value);
        resolve(value);
      },
      (error) => {
        signal.removeEventListener('abort', abort);
        reject(error);
      },
    );
  });
}

/** Waits for `work` to settle, but at most `ms`. @returns false if it did not settle in time */
export async function settledWithin(
  work: Promise<unknown>,
  ms: number,
  clock: Pick<Clock, 'sleep'> = systemClock,
): Promise<boolean> {
  const ended = new AbortController();
  const [inTime, isLate] = [() => true, () => false];
  const late = clock.sleep(ms, ended.signal).then(isLate, inTime);
  const answer = await Promise.race([work.then(inTime, inTime), late]);
  // A remaining timer would keep the process alive.
  ended.abort();
  return answer;
}
