import { readFileSync, type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const MAX_BYTES = 1024 * 1024;
/** Longest wait for a file system that hangs, once there is a value to go on with. */
const MAX_READ_MS = 1_000;

/** Returns the text of one of the files. @throws Error when it cannot be read */
export type TextOf = (path: string) => string;

/**
 * Value made from files, and made again when one of them changes. Links are followed, as Kubernetes
 * mounts need. While the files make no usable value the last good one stays: a rotation is not
 * atomic everywhere.
 */
export class WatchedFiles<T> {
  readonly #paths: readonly string[];
  readonly #make: (textOf: TextOf, extra: string) => T;
  readonly #onFailure: (error: Error) => void;
  #made: { readonly value: T; readonly version: string } | undefined;
  #reading: { readonly done: Promise<void>; readonly sinceMs: number } | undefined;

  /**
   * @param make throws when the files make no usable value
   * @param onFailure receives the reason whenever the last good value stays
   */
  constructor(
    paths: readonly string[],
    make: (textOf: TextOf, extra: string) => T,
    onFailure: (error: Error) => void = () => {},
  ) {
    this.#paths = paths;
    this.#make = make;
    this.#onFailure = onFailure;
  }

  /** The value as last made; undefined before the first. */
  get value(): T | undefined {
    return this.#made?.value;
  }

  /** Makes the value from the files as they are now. @throws what `make` throws */
  readNow(): T {
    const states = this.#paths.map((path) => attempt(() => statSync(path)));
    const texts = this.#paths.map(
      (path, index) => problemWith(states[index]) ?? attempt(() => readFileSync(path, 'utf8')),
    );
    return this.#accept(versionOf(states, ''), texts, '');
  }

  /**
   * Returns the value, made again if a file or `extra` has changed. Waits at most a second once
   * there is a value. @throws what `make` throws, as long as there never was one
   */
  async current(extra = ''): Promise<T> {
    this.#reading ??= { done: this.#read(extra), sinceMs: performance.now() };
    const { done, sinceMs } = this.#reading;
    if (this.#made === undefined) await done;
    // All callers share one read, and its second: a read that hangs is waited for once.
    const restMs = sinceMs + MAX_READ_MS - performance.now();
    if (restMs > 0) {
      const timer = new AbortController();
      const { signal } = timer;
      const late = sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined);
      await Promise.race([done, late]);
      timer.abort();
    }
    return this.#made?.value as T;
  }

  async #read(extra: string): Promise<void> {
    try {
      const states = await Promise.all(
        this.#paths.map((path) => stat(path).catch((error: Error) => error)),
      );
      const version = versionOf(states, extra);
      if (version === this.#made?.version) return;
      const texts = await Promise.all(
        this.#paths.map(
          async (path, index) =>
            problemWith(states[index]) ??
            (await readFile(path, 'utf8').catch((error: Error) => error)),
        ),
      );
      this.#accept(version, texts, extra);
    } catch (error) {
      if (this.#made === undefined) throw error;
      this.#onFailure(error as Error);
    } finally {
      this.#reading = undefined;
    }
  }

  #accept(version: string, texts: readonly (string | Error)[], extra: string): T {
    const textOf = (path: string): string => {
      const text = texts[this.#paths.indexOf(path)];
      if (typeof text !== 'string') throw text;
      return text;
    };
    const value = this.#make(textOf, extra);
    this.#made = { value, version };
    return value;
  }
}

function attempt<R>(work: () => R): R | Error {
  try {
    return work();
  } catch (error) {
    return error as Error;
  }
}

/** Only regular files are read: a pipe would be read once, and block the next time. */
function problemWith(state: Stats | Error | undefined): Error | undefined {
  if (state === undefined || state instanceof Error) return state;
  if (state.isDirectory()) return new Error('it is a directory');
  if (!state.isFile()) return new Error('it is not a regular file');
  return state.size <= MAX_BYTES
    ? undefined
    : new Error(`it has ${state.size} bytes; at most ${MAX_BYTES} are read`);
}

const versionOf = (states: readonly (Stats | Error)[], extra: string): string =>
  states
    .map((state) =>
      state instanceof Error
        ? (state as NodeJS.ErrnoException).code
        : `${state.mtimeMs}/${state.size}/${state.ino}`,
    )
    .concat(extra)
    .join(' ');
