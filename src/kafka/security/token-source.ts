/** Source of the token for all connections. Replaces the token before it expires. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { KafkaToken } from './options.ts';
import { SecurityError } from './security-error.ts';

/** Share of a token's lifetime after which it is replaced, although it is still valid. */
const REPLACE_AT = 0.8;
/** Last share of a token's lifetime, at most MAX_MARGIN_MS, in which the token is no longer used: a login takes time. */
const MARGIN = 0.1;
const MAX_MARGIN_MS = 10_000;
/** Number of attempts per request, and maximum pause after the first attempt. */
const ATTEMPTS = 3;
const FIRST_WAIT_MS = 250;
/** Minimum pause between attempts to replace a token that is still valid. */
const QUIET_MS = 15_000;

interface KeptToken {
  readonly value: string;
  readonly replaceAtMs: number;
  readonly endsAtMs: number;
}

interface TokenSourceParts {
  readonly request: (signal: AbortSignal) => Promise<KafkaToken>;
  readonly logger: Logger;
  /** Returns the time in ms (monotonic clock). */
  readonly now?: () => number;
  /** Returns a random number between 0 and 1. */
  readonly random?: () => number;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

export class TokenSource {
  readonly #parts: Required<TokenSourceParts>;
  readonly #closing = new AbortController();
  #kept: KeptToken | undefined;
  #request: Promise<string> | undefined;
  #quietUntilMs = 0;

  constructor(parts: TokenSourceParts) {
    this.#parts = {
      now: () => performance.now(),
      random: Math.random,
      wait: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
      ...parts,
    };
  }

  /** Returns a token that is valid long enough for a login. @throws SecurityError */
  async token(): Promise<string> {
    const nowMs = this.#parts.now();
    const kept = this.#kept;
    if (kept === undefined || nowMs >= kept.endsAtMs) return await this.#renew();
    if (nowMs >= kept.replaceAtMs && nowMs >= this.#quietUntilMs) {
      this.#renew().catch((error: unknown) => {
        this.#quietUntilMs = this.#parts.now() + QUIET_MS;
        if (!this.#closing.signal.aborted)
          this.#parts.logger.warn(
            { error: (error as Error).message },
            'the token for Kafka could not be replaced; the current one is used until it expires',
          );
      });
    }
    return kept.value;
  }

  /** Drops a token that brokers rejected, so that the next login requests a new one. */
  invalidate(value: string): void {
    if (this.#kept?.value === value) this.#kept = undefined;
  }

  close(): void {
    this.#closing.abort(new SecurityError('the connection to Kafka is closed'));
  }

  /** Requests a new token. Concurrent callers share one request. */
  #renew(): Promise<string> {
    this.#request ??= this.#requestNew().finally(() => {
      this.#request = undefined;
    });
    return this.#request;
  }

  async #requestNew(): Promise<string> {
    const { request, now, random, wait } = this.#parts;
    const { signal } = this.#closing;
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      const askedAtMs = now();
      try {
        const { value, lifetimeMs } = await request(signal);
        this.#kept = {
          value,
          replaceAtMs: askedAtMs + lifetimeMs * REPLACE_AT,
          endsAtMs: askedAtMs + lifetimeMs - Math.min(lifetimeMs * MARGIN, MAX_MARGIN_MS),
        };
        return value;
      } catch (error) {
        signal.throwIfAborted();
        if (attempt >= ATTEMPTS || !(error instanceof SecurityError) || !error.retriable)
          throw error;
        await wait(FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + random() / 2), signal).catch(() =>
          signal.throwIfAborted(),
        );
      }
    }
  }
}
