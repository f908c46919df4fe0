/** The command that goes on where this one stopped, to be copied and run. */
import type { Io } from '../io.ts';
import type { ConnectionFlags } from './connection.ts';

/** @param words the command and its arguments; undefined ones are left out. */
export function commandLine(io: Io, words: readonly (string | undefined)[], flags: ConnectionFlags): string {
  const connection: [string, string | undefined][] = [
    ['--url', flags.url],
    ['--api-key-file', flags.apiKeyFile],
    ['--config', flags.config],
    ['--import-path', flags.importPath],
  ];
  const options = connection.flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
  return [io.program, ...[...words.filter((word) => word !== undefined), ...options].map(quoted)].join(' ');
}

/** For a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
