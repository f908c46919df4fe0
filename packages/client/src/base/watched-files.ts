import { readFileSync, type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { settledWithin } from './abortable.ts';

const MAX_BYTES = 1024 * 1024;
/** Maximum wait in ms for a file system that hangs, if there is an earlier value to use. */
const MAX_READ_MS = 1_000;

/** Returns the text of one of the files. @throws Error if it cannot be read */
export type TextOf = (path: string) => string;

/**
 * Value that is made from files, and made again when one of them changes. Follows symbolic links,
 * as Kubernetes mounts require. The last usable value is kept while the files yield none, because
 * not every rotation is atomic.
 */
export class WatchedFiles<T> {
  readonly paths: readonly string[];
  readonly #make: (textOf: TextOf) => T;
  readonly #onFailure: (error: Error) => void;
  #made: { readonly value: T; readonly version: string } | undefined;
  #reading: Promise<void> | undefined;
  /**
   * Resolves when `#reading` settles, or after MAX_READ_MS if that is earlier. Shared, so that
   * callers wait only once for a read that hangs.
   */
  #readInTime: Promise<unknown> | undefined;

  /**
   * @param make makes the value; throws if the files yield no usable value
   * @param onFailure receives the reason whenever the last usable value is kept
   */
  constructor(
    paths: readonly string[],
    make: (textOf: TextOf) => T,
    onFailure: (error: Error) => void = () => {},
  ) {
    this.paths = paths;
    this.#make = make;
    this.#onFailure = onFailure;
  }

  /** Value of the last successful read. undefined before the first. */
  get value(): T | undefined {
    return this.#made?.value;
  }

  /** Makes the value from the current files. @throws the error of `make` */
  readNow(): T {
    const states = this.paths.map((path) => attempt(() => statSync(path)));
    const texts = this.paths.map(
      (path, index) => problemWith(states[index]) ?? attempt(() => readFileSync(path, 'utf8')),
    );
    return this.#accept(versionOf(states), texts);
  }

  /**
   * Returns the value. Makes it again if a file has changed. If there is an earlier value, waits
   * at most a second; otherwise waits for the read. @throws the error of `make` if there is no
   * value yet
   */
  async current(): Promise<T> {
    if (this.#reading === undefined) {
      this.#reading = this.#read();
      this.#readInTime = settledWithin(this.#reading, MAX_READ_MS);
    }
    await (this.#made === undefined ? this.#reading : this.#readInTime);
    return this.#made?.value as T;
  }

  async #read(): Promise<void> {
    try {
      const states = await Promise.all(
        this.paths.map((path) => stat(path).catch((error: Error) => error)),
      );
      const version = versionOf(states);
      if (version === this.#made?.version) return;
      const texts = await Promise.all(
        this.paths.map(
          async (path, index) =>
            problemWith(states[index]) ??
            (await readFile(path, 'utf8').catch((error: Error) => error)),
        ),
      );
      this.#accept(version, texts);
    } catch (error) {
      if (this.#made === undefined) throw error;
      this.#onFailure(error as Error);
    } finally {
      this.#reading = undefined;
    }
  }

  #accept(version: string, texts: readonly (string | Error)[]): T {
    const textOf = (path: string): string => {
      const text = texts[this.paths.indexOf(path)];
      if (typeof text !== 'string') throw text;
      return text;
    };
    const value = this.#make(textOf);
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

/** Accepts only regular files. A pipe could be read only once, and would block the next read. */
function problemWith(state: Stats | Error | undefined): Error | undefined {
  if (state === undefined || state instanceof Error) return state;
  if (state.isDirectory()) return new Error('the path is a directory');
  if (!state.isFile()) return new Error('the path is not a regular file');
  return state.size <= MAX_BYTES
    ? undefined
    : new Error(`the file has ${state.size} bytes, but at most ${MAX_BYTES} are allowed`);
}

const versionOf = (states: readonly (Stats | Error)[]): string =>
  states
    .map((state) =>
      state instanceof Error
        ? (state as NodeJS.ErrnoException).code
        : `${state.mtimeMs}/${state.size}/${state.ino}`,
    )
    .join(' ');
