/** The command that goes on where this one stopped, to be copied and run. */
import type { Io } from '../io.ts';
import { printableLines } from '../printable.ts';
import type { ConnectionFlags } from './connection.ts';

const QUOTE = 0x27;
const BACKSLASH = 0x5c;

/** @param command its two words, the id, and options; undefined ones are left out. */
export function commandLine(
  io: Io,
  [noun, verb, id, ...rest]: readonly [string, string, string, ...(string | undefined)[]],
  flags: ConnectionFlags,
): string {
  const connection: [string, string | undefined][] = [
    ['--url', flags.url],
    ['--api-key-file', flags.apiKeyFile],
    ['--config', flags.config],
    ['--import-path', flags.importPath],
  ];
  const options = connection.flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
  const said = [...rest.filter((word) => word !== undefined), ...options];
  // An id that begins with a dash would be taken for an option.
  const words = id.startsWith('-') ? [noun, verb, ...said, '--', id] : [noun, verb, id, ...said];
  return [io.program, ...words.map(quoted)].join(' ');
}

/** For a POSIX shell. What would do something at the terminal that shows it is written as bytes. */
function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (printableLines(word) === word && !word.includes('\n'))
    return `'${word.replaceAll("'", `'\\''`)}'`;
  const bytes = Array.from(Buffer.from(word), (byte) =>
    byte < 0x20 || byte > 0x7e || byte === QUOTE || byte === BACKSLASH
      ? `\\x${byte.toString(16).padStart(2, '0')}`
      : String.fromCharCode(byte),
  );
  return `$'${bytes.join('')}'`;
}
