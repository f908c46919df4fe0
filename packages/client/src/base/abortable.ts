import { type Clock, systemClock } from './clock.ts';

/**
 * Settles as `work` does, or rejects with the signal's reason as soon as that is aborted, whether `work` listens or not.
 * @param late gets a value that came too late, to free what it holds.
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

/** Waits for the end of `work`, good or bad, for so long at the most. @returns false if it was too late */
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
