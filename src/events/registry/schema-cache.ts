/**
 * Cache of the schemas that records refer to, so that records can be read without waiting. Each id
 * has at most one load at a time, shared by all callers. A failing load is retried until the
 * registry responds or the signal of the caller that started it is aborted. The next caller then
 * starts another load.
 */
import pLimit from 'p-limit';
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import { retryWaitMs } from '../../../packages/client/src/base/backoff.ts';
import type { DeadLetterReason } from '../../core/outcome/dead-letter-reason.ts';
import type { Poison } from '../../core/record.ts';
import {
  RegistryRefused,
  type RegistrySettings,
  RegistryUnavailable,
  UnusableSchema,
} from './registry.ts';

/** Number of entries above which entries not used recently are removed. */
const MAX_ENTRIES = 2_000;
/** Minimum time in ms that an unused schema stays, since a shard may wait for memory before it reads the records. */
const LATELY_MS = 10 * 60_000;
/** The same time for an unknown id. Shorter, because values without a schema id can produce any id. */
const LATELY_UNKNOWN_MS = 60_000;
/** Pause before an unknown id is loaded a second time, because a registry's replica may receive a schema late. */
const SECOND_LOOK_MS = 1_000;
/** Time in ms for which an id counts as unknown after its second load. */
const UNKNOWN_MS = 5_000;
/** Maximum number of second loads per minute, so that values without a schema id do not delay other records. */
const SECOND_LOOKS = 40;
const BACKOFF = { baseMs: 250, capMs: 15_000 };
/** Number of ids loaded concurrently. */
const LOADS_AT_ONCE = 8;

/** A schema, or the reason why no record with its id can be read. */
type CachedSchema<T> =
  | { readonly schema: T; readonly poison?: never }
  | { readonly schema?: never; readonly poison: Poison };

interface CacheEntry<T> {
  readonly found: CachedSchema<T>;
  /** Time of the next load. A schema that was found never becomes stale. */
  readonly staleMs: number;
  usedMs: number;
}

/** Loads a schema. Resolves to undefined for an unknown id. Rejects like SchemaRegistry. */
export type LoadSchema<T> = (id: number, signal: AbortSignal) => Promise<T | undefined>;

export class SchemaCache<T> {
  readonly #load: LoadSchema<T>;
  readonly #settings: RegistrySettings;
  readonly #entries = new Map<number, CacheEntry<T>>();
  readonly #loads = new Map<number, Promise<boolean>>();
  /** Ids for which callers wait. An entry must stay until all ids of its caller are loaded. */
  readonly #wanted = new Set<readonly number[]>();
  #secondLooks = { sinceMs: 0, count: 0 };

  constructor(load: LoadSchema<T>, settings: RegistrySettings) {
    this.#load = load;
    this.#settings = settings;
  }

  /** Returns the schema of an id, even if it is stale: `ensure` refreshes it. */
  get(id: number): CachedSchema<T> | undefined {
    return this.#entries.get(id)?.found;
  }

  /** Loads missing schemas. Returns undefined if none is missing. Rejects only with the signal's reason. */
  ensure(ids: Iterable<number>, signal: AbortSignal): Promise<void> | undefined {
    const nowMs = this.#settings.clock.monotonic();
    const missing: number[] = [];
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (entry === undefined || entry.staleMs <= nowMs) missing.push(id);
      else entry.usedMs = nowMs;
    }
    if (missing.length === 0) return undefined;
    this.#drop(nowMs);
    return this.#loadAll(missing, signal);
  }

  async #loadAll(ids: readonly number[], signal: AbortSignal): Promise<void> {
    const limit = pLimit(LOADS_AT_ONCE);
    this.#wanted.add(ids);
    await Promise.all(ids.map((id) => limit(() => this.#join(id, signal)))).finally(() =>
      this.#wanted.delete(ids),
    );
  }

  async #join(id: number, signal: AbortSignal): Promise<void> {
    for (let isLoaded = false; !isLoaded; ) {
      signal.throwIfAborted();
      isLoaded = await abortable(this.#loads.get(id) ?? this.#begin(id, signal), signal);
    }
  }

  /** Starts a load, which resolves to false if the signal ended it. */
  #begin(id: number, signal: AbortSignal): Promise<boolean> {
    const load = this.#run(id, signal)
      .then(
        () => true,
        (error) => {
          if (signal.aborted) return false;
          throw error;
        },
      )
      .finally(() => this.#loads.delete(id));
    this.#loads.set(id, load);
    return load;
  }

  async #run(id: number, signal: AbortSignal): Promise<void> {
    const { clock, random, observer, backoff = BACKOFF } = this.#settings;
    let failures = 0;
    try {
      for (;;) {
        try {
          this.#entries.set(id, await this.#entry(id, signal));
          return;
        } catch (error) {
          signal.throwIfAborted();
          // Even an unexpected error is not a reason for a dead letter.
          const known = error instanceof RegistryUnavailable;
          observer?.unavailable(known ? error.message : `schema ${id} could not be loaded`);
          await clock.sleep(retryWaitMs(failures++, backoff, random), signal);
        }
      }
    } finally {
      // Reports the recovery even if the caller is gone. Otherwise the failure would be reported permanently.
      if (failures > 0) observer?.available();
    }
  }

  async #entry(id: number, signal: AbortSignal): Promise<CacheEntry<T>> {
    const { clock } = this.#settings;
    const entry = (found: CachedSchema<T>, keptMs: number): CacheEntry<T> => {
      const nowMs = clock.monotonic();
      return { found, staleMs: nowMs + keptMs, usedMs: nowMs };
    };
    const refused = (reason: DeadLetterReason, message: string) =>
      entry({ poison: { reason, message } }, UNKNOWN_MS);
    try {
      let schema = await this.#load(id, signal);
      if (schema === undefined && this.#mayLookAgain(id)) {
        await clock.sleep(SECOND_LOOK_MS, signal);
        schema = await this.#load(id, signal);
      }
      return schema === undefined
        ? refused('unknown_schema', `the registry does not have the schema id ${id}`)
        : entry({ schema }, Infinity);
    } catch (error) {
      if (error instanceof UnusableSchema)
        return refused('undecodable', `schema ${id} cannot be used: ${error.message}`);
      if (!(error instanceof RegistryRefused)) throw error;
      const message = `the registry rejects schema id ${id} (error code ${error.errorCode})`;
      return refused('unknown_schema', message);
    }
  }

  /** Returns false for an id that has an entry, because it was already loaded twice. */
  #mayLookAgain(id: number): boolean {
    if (this.#entries.has(id)) return false;
    const nowMs = this.#settings.clock.monotonic();
    if (nowMs - this.#secondLooks.sinceMs > 60_000)
      this.#secondLooks = { sinceMs: nowMs, count: 0 };
    return this.#secondLooks.count++ < SECOND_LOOKS;
  }

  #drop(nowMs: number): void {
    if (this.#entries.size < MAX_ENTRIES) return;
    const wanted = new Set([...this.#wanted].flat());
    for (const [id, { usedMs, found }] of this.#entries)
      if (
        !wanted.has(id) &&
        nowMs - usedMs > (found.poison === undefined ? LATELY_MS : LATELY_UNKNOWN_MS)
      )
        this.#entries.delete(id);
  }
}
