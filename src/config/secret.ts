import { readFileSync, statSync } from 'node:fs';
import { inspect } from 'node:util';

const MASK = '[secret]';
const MAX_BYTES = 64 * 1024;

/**
 * A value that cannot be printed by accident (I6): text, JSON and inspection all give `[secret]`. Only `reveal` gives it away.
 * A secret in a file is read again when the file changes, so that a rotated key needs no restart.
 */
export class Secret {
  readonly #reveal: () => string;

  private constructor(reveal: () => string) {
    this.#reveal = reveal;
  }

  /** @throws Error that says what is wrong with the value, never the value. */
  static of(value: string): Secret {
    const checked = check(value);
    return new Secret(() => checked);
  }

  /**
   * Follows links, as Kubernetes mounts need. While the file cannot be read, or holds nothing usable, the last good value
   * stays: a rotation is not atomic everywhere.
   * @throws Error when the file has no usable value now.
   */
  static file(path: string): Secret {
    let version = versionOf(path);
    let value = readSecretFile(path);
    return new Secret(() => {
      try {
        const current = versionOf(path);
        if (current !== version) {
          value = readSecretFile(path);
          version = current;
        }
      } catch {
        // Keep the last good value; the service's 401 is what tells that it is no longer good.
      }
      return value;
    });
  }

  /** The value itself, current. For the one place that sends it; never to be kept, logged or put into an error. */
  reveal(): string {
    return this.#reveal();
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

function versionOf(path: string): string {
  const { mtimeMs, size, ino } = statSync(path);
  return `${mtimeMs}/${size}/${ino}`;
}

function readSecretFile(path: string): string {
  const { size } = statSync(path);
  if (size > MAX_BYTES) throw new Error(`the file has ${size} bytes; a secret has at most ${MAX_BYTES}`);
  return check(readFileSync(path, 'utf8').replace(/\r?\n$/, ''));
}

/** A secret goes into an HTTP header or a handshake: neither takes a line break. */
function check(value: string): string {
  if (value.trim() === '') throw new Error('it is empty');
  if (/\p{Cc}/u.test(value)) throw new Error('it holds a line break or another control character');
  return value;
}
