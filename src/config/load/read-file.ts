/** Options that name files of the operating system: certificates and keys. What is in them is read again by who uses them. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Refusal } from '../units.ts';

const MAX_BYTES = 1024 * 1024;

export type PemKind = 'CERTIFICATE' | 'PRIVATE KEY';
/** From what is written to the full path of a PEM file that has such a part now. */
export type PemPath = (raw: unknown, kind: PemKind) => string | Refusal;

/** Paths are relative to the configuration file. The refusal names the file and what it lacks. */
export function pemReader(directory: string): PemPath {
  return (raw, kind) => {
    if (typeof raw !== 'string' || raw.trim() === '') return new Refusal('');
    if (raw.includes('-----BEGIN'))
      return new Refusal('write the path of the file, not what is in it');
    const path = resolve(directory, raw);
    const objection = objectionTo(path, kind);
    return objection === undefined ? path : new Refusal(`the file ${path}: ${objection}`);
  };
}

function objectionTo(path: string, kind: PemKind): string | undefined {
  try {
    const stats = statSync(path);
    if (!stats.isFile())
      return stats.isDirectory() ? 'it is a directory' : 'it is not a regular file';
    if (stats.size > MAX_BYTES) return `it has ${stats.size} bytes; at most ${MAX_BYTES} are read`;
    if (new RegExp(`^-----BEGIN [A-Z ]*${kind}-----`, 'm').test(readFileSync(path, 'utf8')))
      return undefined;
    return `it has no PEM part "${kind}"; of a Java keystore one is made with keytool and openssl (docs/kafka-security.md)`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 'there is no such file';
    return code === 'EACCES' || code === 'EPERM'
      ? 'it may not be read by this user'
      : (code ?? 'it cannot be read');
  }
}
