/**
 * What was made of the schemas that records name, at hand without waiting. One load per id at a time, whoever asks; a registry
 * that cannot answer is asked again until it can, or until nobody waits any more.
 */
import { abortable } from '../../base/abortable.ts';
import { retryWaitMs } from '../../base/backoff.ts';
import type { Poison } from '../../core/record.ts';
import { RegistryRefused, RegistryUnavailable, UnusableSchema } from './errors.ts';
import {
  REGISTRY_BACKOFF,
  type RegistrySettings,
  SILENT_REGISTRY_OBSERVER,
  UNKNOWN_MS,
} from './settings.ts';

/** Entries beyond which those not asked for lately are forgotten. */
const MAX_ENTRIES = 2_000;
/** What was prepared is read within this, also when the shard had to wait for memory in between. */
const LATELY_MS = 10 * 60_000;
/** Entries beyond which ids that led nowhere are forgotten sooner: values that are none of a registry's can name a new one each. */
const MANY_ENTRIES = 20_000;
const LATELY_NOWHERE_MS = 60_000;
/** An id is unknown when the registry says so twice: it may hear of a schema a moment after its producer did. */
const SECOND_LOOK_MS = 1_000;
/** Ids within a minute that get a second look: values that are none of a registry's must not slow the others down for long. */
const SECOND_LOOKS = 40;
/** Ids asked for at once. */
const LOADS_AT_ONCE = 8;

export type Loaded<T> =
  | { readonly schema: T; readonly poison?: never }
  | { readonly schema?: never; readonly poison: Poison };

interface Entry<T> {
  readonly loaded: Loaded<T>;
  /** When to ask again; a schema that was found never changes. */
  readonly staleMs: number;
  usedMs: number;
}

interface Load {
  readonly done: Promise<void>;
  readonly stop: AbortController;
  waiting: number;
}

/** Loads and understands one schema. @returns undefined when the id is unknown; throws what SchemaRegistry does */
export type LoadSchema<T> = (id: number, signal: AbortSignal) => Promise<T | undefined>;

export class SchemaCache<T> {
  readonly #load: LoadSchema<T>;
  readonly #settings: Pick<
    RegistrySettings,
    'clock' | 'random' | 'observer' | 'backoff' | 'unknownMs'
  >;
  readonly #entries = new Map<number, Entry<T>>();
  readonly #loads = new Map<number, Load>();
  readonly #secondLooks = { sinceMs: 0, count: 0 };

  constructor(
    load: LoadSchema<T>,
    settings: Pick<RegistrySettings, 'clock' | 'random' | 'observer' | 'backoff' | 'unknownMs'>,
  ) {
    this.#load = load;
    this.#settings = settings;
  }

  /** What is known of an id, also when it is stale: whoever prepared it decides about that. */
  get(id: number): Loaded<T> | undefined {
    return this.#entries.get(id)?.loaded;
  }

  /** Loads what is missing of these; undefined when nothing is. Rejects with the signal's reason only. */
  ensure(ids: Iterable<number>, signal: AbortSignal): Promise<void> | undefined {
    const nowMs = this.#settings.clock.monotonic();
    const missing: number[] = [];
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (entry === undefined || entry.staleMs <= nowMs) missing.push(id);
      else entry.usedMs = nowMs;
    }
    if (missing.length === 0) return undefined;
    this.#forget(nowMs);
    return this.#loadAll(missing, signal);
  }

  async #loadAll(ids: readonly number[], signal: AbortSignal): Promise<void> {
    const rest = ids.values();
    const one = async () => {
      for (const id of rest) await this.#join(id, signal);
    };
    await Promise.all(Array.from({ length: Math.min(LOADS_AT_ONCE, ids.length) }, one));
  }

  /** Waits for the load of an id, which goes on for as long as anybody does. */
  async #join(id: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const load = this.#loads.get(id) ?? this.#begin(id);
    load.waiting++;
    try {
      await abortable(load.done, signal);
    } finally {
      load.waiting--;
      if (load.waiting === 0) {
        load.stop.abort(new DOMException('Nobody waits for this schema', 'AbortError'));
        if (this.#loads.get(id) === load) this.#loads.delete(id);
      }
    }
  }

  #begin(id: number): Load {
    const stop = new AbortController();
    const load: Load = { done: this.#run(id, stop.signal), stop, waiting: 0 };
    // Whoever waits sees it; when nobody does any more it rejects for nobody.
    load.done.catch(() => {});
    this.#loads.set(id, load);
    return load;
  }

  async #run(id: number, signal: AbortSignal): Promise<void> {
    const {
      clock,
      random,
      observer = SILENT_REGISTRY_OBSERVER,
      backoff = REGISTRY_BACKOFF,
    } = this.#settings;
    let failures = 0;
    try {
      for (;;) {
        try {
          const entry = await this.#ask(id, signal);
          signal.throwIfAborted();
          this.#entries.set(id, entry);
          return;
        } catch (error) {
          signal.throwIfAborted();
          // What nobody foresaw is no reason to give a record up either.
          observer.unavailable(
            error instanceof RegistryUnavailable
              ? error.message
              : `schema ${id} could not be loaded`,
          );
          await clock.sleep(retryWaitMs(failures++, backoff, random), signal);
        }
      }
    } finally {
      // Also when those who waited are gone: a loss that nobody feels any more would stay reported for ever.
      if (failures > 0) observer.available();
    }
  }

  async #ask(id: number, signal: AbortSignal): Promise<Entry<T>> {
    const { clock, unknownMs = UNKNOWN_MS } = this.#settings;
    const entry = (loaded: Loaded<T>, keptMs: number) => {
      const nowMs = clock.monotonic();
      return { loaded, staleMs: nowMs + keptMs, usedMs: nowMs };
    };
    try {
      let schema = await this.#load(id, signal);
      if (schema === undefined && this.#mayLookAgain(id)) {
        await clock.sleep(SECOND_LOOK_MS, signal);
        schema = await this.#load(id, signal);
      }
      if (schema !== undefined) return entry({ schema }, Number.POSITIVE_INFINITY);
      const message = `the registry does not know the schema id ${id}`;
      return entry({ poison: { reason: 'unknown_schema', message } }, unknownMs);
    } catch (error) {
      if (error instanceof UnusableSchema) {
        return entry(
          {
            poison: {
              reason: 'undecodable',
              message: `schema ${id} cannot be used: ${error.message}`,
            },
          },
          unknownMs,
        );
      }
      if (error instanceof RegistryRefused) {
        const message = `the registry refuses schema id ${id} (error code ${error.errorCode})`;
        return entry({ poison: { reason: 'unknown_schema', message } }, unknownMs);
      }
      throw error;
    }
  }

  /** Not an id that was unknown before, which has had its time. */
  #mayLookAgain(id: number): boolean {
    if (this.#entries.has(id)) return false;
    const nowMs = this.#settings.clock.monotonic();
    if (nowMs - this.#secondLooks.sinceMs > 60_000)
      Object.assign(this.#secondLooks, { sinceMs: nowMs, count: 0 });
    return this.#secondLooks.count++ < SECOND_LOOKS;
  }

  #forget(nowMs: number): void {
    if (this.#entries.size < MAX_ENTRIES) return;
    const nowhereMs = this.#entries.size < MANY_ENTRIES ? LATELY_MS : LATELY_NOWHERE_MS;
    for (const [id, { usedMs, loaded }] of this.#entries) {
      if (nowMs - usedMs > (loaded.poison === undefined ? LATELY_MS : nowhereMs))
        this.#entries.delete(id);
    }
  }
}
