import { setTimeout as sleep } from 'node:timers/promises';

/** @throws the signal's reason, at once. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}
