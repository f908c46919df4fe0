import { resolve } from 'node:path';
import { nearest } from '../../base/nearest.ts';
import { Secret } from '../secret.ts';
import { Refusal } from '../units.ts';
import type { Environment } from './interpolate.ts';

/**
 * What is written for a secret: `{env: NAME}`, `{file: PATH}` (relative to the configuration file), or the text itself.
 * The refusal says what is wrong, never the value.
 */
export function secretReader(
  env: Environment,
  directory: string,
): (raw: unknown) => Secret | Refusal {
  return (raw) => {
    if (typeof raw === 'string') return attempt(() => Secret.of(raw), 'the text');
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return new Refusal('');
    const entries = Object.entries(raw);
    const [key, source] = entries[0] ?? [];
    if (key === undefined || entries.length !== 1)
      return new Refusal('exactly one of env and file');
    if (key !== 'env' && key !== 'file') {
      const close = nearest(key, ['env', 'file']);
      return new Refusal(close === undefined ? '' : `did you mean ${close}?`);
    }
    if (typeof source !== 'string' || source === '') return new Refusal(`${key} is a text`);
    if (key === 'file') {
      const path = resolve(directory, source);
      return attempt(() => Secret.file(path), `the file ${path}`);
    }
    const value = Object.hasOwn(env, source) ? env[source] : undefined;
    if (value === undefined) return new Refusal(`the environment variable ${source} is not set`);
    return attempt(() => Secret.of(value), `the environment variable ${source}`);
  };
}

function attempt(make: () => Secret, what: string): Secret | Refusal {
  try {
    return make();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return new Refusal(
      `${what}: ${code === undefined ? (error as Error).message : describe(code)}`,
    );
  }
}

function describe(code: string): string {
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EACCES' || code === 'EPERM') return 'it may not be read by this user';
  return code === 'EISDIR' ? 'it is a directory' : code;
}
