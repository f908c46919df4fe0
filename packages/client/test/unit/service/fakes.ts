/** Time, randomness and an observer that a test controls. */
import type { Clock } from '../../../src/base/clock.ts';
import type { ServiceObserver } from '../../../src/service/options.ts';

/** Clock on which sleeping takes no real time: each sleep advances the clock and is recorded. */
export class InstantClock implements Clock {
  readonly slept: number[] = [];
  #nowMs: number;

  constructor(nowMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  after(_ms: number, _fire: () => void): () => void {
    throw new Error('not used by the service client');
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.slept.push(ms);
    this.#nowMs += ms;
  }
}

/** Clock on which a sleep ends only by an abort, and reports when it begins. */
export class EndlessSleepClock extends InstantClock {
  readonly #began = Promise.withResolvers<void>();
  readonly sleeping: Promise<void> = this.#began.promise;

  override sleep(_ms: number, signal?: AbortSignal): Promise<void> {
    this.#began.resolve();
    return new Promise((_, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
    );
  }
}

/** Returns randomness that always draws the same value. */
export function constantRandom(value: number): { next(): number } {
  return { next: () => value };
}

export class RecordingObserver implements ServiceObserver {
  readonly requests: string[] = [];
  readonly retries: string[] = [];
  readonly hosts: string[] = [];
  orphans = 0;

  request(operation: string, code: string, seconds: number): void {
    if (!(seconds >= 0)) throw new Error(`seconds of ${operation} ${code}: ${seconds}`);
    this.requests.push(`${operation} ${code}`);
  }

  retry(operation: string, reason: string): void {
    this.retries.push(`${operation} ${reason}`);
  }

  transferHost(host: string): void {
    this.hosts.push(host);
  }

  orphanPossible(): void {
    this.orphans++;
  }
}
