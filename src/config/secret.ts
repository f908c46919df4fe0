import { inspect } from 'node:util';
import { WatchedFiles } from '../../packages/client/src/base/watched-files.ts';

const MASK = '[secret]';

/**
 * Value that cannot be printed by accident (I6): conversion to a string, JSON and inspection yield
 * `[secret]`. A secret in a file is read again when the file changes (`current`), so a rotated key
 * needs no restart.
 */
export class Secret {
  /** True if the configuration file contains the value itself. */
  readonly isInline: boolean;
  readonly #source: string | WatchedFiles<string>;
  #reloaded = () => {};

  private constructor(source: string | WatchedFiles<string>, isInline = false) {
    this.#source = source;
    this.isInline = isInline;
  }

  /** @throws Error that states what is wrong with the value, without the value */
  static of(value: string, { isInline = false, hasLines = false } = {}): Secret {
    return new Secret(check(value, hasLines), isInline);
  }

  /** @throws Error if the file is not a regular file or has no usable value */
  static file(path: string, hasLines = false): Secret {
    const file: WatchedFiles<string> = new WatchedFiles([path], (textOf) => {
      const value = check(textOf(path).replace(/\r?\n$/, ''), hasLines);
      if (file.value !== undefined && value !== file.value) secret.#reloaded();
      return value;
    });
    const secret = new Secret(file);
    file.readNow();
    return secret;
  }

  /** Path of the file, or the value if there is no file. Only for comparisons. */
  get source(): string {
    return typeof this.#source === 'string' ? this.#source : String(this.#source.paths);
  }

  /** @param reloaded called whenever the file has a new usable value */
  onReload(reloaded: () => void): void {
    this.#reloaded = reloaded;
  }

  /** Returns the last value read. It may only be sent: it must not be kept, logged or put into an error. */
  reveal(): string {
    return typeof this.#source === 'string' ? this.#source : (this.#source.value ?? '');
  }

  /** Returns the value. Reads it again if its file has changed. Resolves within a second, never rejects. */
  async current(): Promise<string> {
    return typeof this.#source === 'string' ? this.#source : await this.#source.current();
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** Most secrets are sent in HTTP headers and handshakes, which do not allow line breaks. */
function check(value: string, hasLines: boolean): string {
  if (value.trim() === '') throw new Error('it is empty');
  if (!hasLines && /\p{Cc}/u.test(value))
    throw new Error('it contains a line break or another control character');
  return value;
}
