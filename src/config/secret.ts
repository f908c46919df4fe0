import { readFileSync, type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

const MASK = '[secret]';
const MAX_BYTES = 64 * 1024;
/** Longest wait for the file system: one that hangs must not hold up what needs the secret. */
const MAX_READ_MS = 1_000;

/**
 * A value that cannot be printed by accident (I6): text, JSON and inspection all give `[secret]`. Only `reveal` gives it away.
 * A secret in a file is read again when the file changes (`current`), so that a rotated key needs no restart.
 */
export class Secret {
  #value: string;
  readonly #file: string | undefined;
  #version = '';
  #reading: { readonly done: Promise<void>; readonly sinceMs: number } | undefined;

  private constructor(value: string, file?: string) {
    this.#value = value;
    this.#file = file;
  }

  /** @throws Error that says what is wrong with the value, never the value. */
  static of(value: string): Secret {
    return new Secret(check(value));
  }

  /**
   * Follows links, as Kubernetes mounts need. While the file cannot be read, or holds nothing usable, the last good value
   * stays: a rotation is not atomic everywhere.
   * @throws Error when the file has no usable value now, or is none: a pipe would be read once and hang the next time.
   */
  static file(path: string): Secret {
    const stats = statSync(path);
    checkFile(stats);
    const secret = new Secret(valueIn(readFileSync(path, 'utf8')), path);
    secret.#version = versionOf(stats);
    return secret;
  }

  /** The value as it was last read. For the one place that sends it; never to be kept, logged or put into an error. */
  reveal(): string {
    return this.#value;
  }

  /**
   * The value, read again when its file has changed. Resolves within a second, with the last good value if the file system
   * hangs; never rejects. As `reveal` otherwise.
   */
  async current(): Promise<string> {
    if (this.#file === undefined) return this.#value;
    this.#reading ??= { done: this.#read(this.#file), sinceMs: performance.now() };
    const { done, sinceMs } = this.#reading;
    // A read that hangs is waited for once, not by each who asks.
    const restMs = sinceMs + MAX_READ_MS - performance.now();
    if (restMs > 0) {
      const enough = new AbortController();
      const late = sleep(restMs, undefined, { signal: enough.signal, ref: false }).catch(
        () => undefined,
      );
      await Promise.race([done, late]);
      enough.abort();
    }
    return this.#value;
  }

  async #read(file: string): Promise<void> {
    try {
      const stats = await stat(file);
      const version = versionOf(stats);
      if (version === this.#version) return;
      checkFile(stats);
      this.#value = valueIn(await readFile(file, 'utf8'));
      this.#version = version;
    } catch {
      // Keep the last good value; the service's 401 is what tells that it is no longer good.
    } finally {
      this.#reading = undefined;
    }
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [Symbol.toPrimitive](): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

const versionOf = ({ mtimeMs, size, ino }: Stats): string => `${mtimeMs}/${size}/${ino}`;

function checkFile(stats: Stats): void {
  if (stats.isDirectory()) throw new Error('it is a directory');
  if (!stats.isFile()) throw new Error('it is not a regular file');
  if (stats.size > MAX_BYTES)
    throw new Error(`the file has ${stats.size} bytes; a secret has at most ${MAX_BYTES}`);
}

const valueIn = (text: string): string => check(text.replace(/\r?\n$/, ''));

/** A secret goes into an HTTP header or a handshake: neither takes a line break. */
function check(value: string): string {
  if (value.trim() === '') throw new Error('it is empty');
  if (/\p{Cc}/u.test(value)) throw new Error('it holds a line break or another control character');
  return value;
}
