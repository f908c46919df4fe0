import { CommandFailed } from '../command-failed.ts';
import type { Io } from '../io.ts';
import { printableLines } from '../printable.ts';

export const URL_VARIABLE = 'CONTENT_REVIEW_URL';
export const KEY_VARIABLE = 'CONTENT_REVIEW_API_KEY';

/** Options of the commands that call the service; each command has some of them. */
export interface ServiceFlags {
  readonly url?: string;
  readonly apiKeyFile?: string;
  readonly config?: string;
  readonly allowHttp?: true;
  readonly importPath?: string;
  readonly json?: true;
  readonly wait?: true;
  /** In ms. */
  readonly timeout?: number;
  readonly type?: string;
  readonly output?: string;
  readonly force?: true;
  readonly resultColumn?: string;
}

/** Refuses combinations of options that make no sense. @throws CommandFailed */
export function checkFlags(verb: string, flags: ServiceFlags): void {
  const { wait, timeout, json, output, type, resultColumn } = flags;
  const isSubmit = verb === 'submit';
  const unwaited = isSubmit && output !== undefined ? '--output' : timeout && '--timeout';
  if (wait !== true && unwaited) throw new CommandFailed(`${unwaited} needs --wait`);
  if (type?.trim() === '') throw new CommandFailed('--type needs a type of content');
  if (isSubmit && output === '-' && json === true)
    throw new CommandFailed(
      '--json and --output - both write to standard output: name a file for --output',
    );
  if (resultColumn !== undefined && json !== true)
    throw new CommandFailed('--result-column needs --json');
}

const QUOTE = 0x27;
const BACKSLASH = 0x5c;

/**
 * Returns a command line with the connection of this one, to be copied and run.
 * @param command its two words, the id, and options; undefined ones are left out.
 */
export function commandLine(
  { program }: Pick<Io, 'program'>,
  [noun, verb, id, ...rest]: readonly [string, string, string, ...(string | undefined)[]],
  { url, apiKeyFile, config, importPath }: ServiceFlags,
): string {
  const connection = Object.entries({
    '--url': url,
    '--api-key-file': apiKeyFile,
    '--config': config,
    '--import-path': importPath,
  }).flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
  const options = [...rest.filter((word) => word !== undefined), ...connection];
  // An id that begins with a dash would be taken for an option.
  const words = id.startsWith('-')
    ? [noun, verb, ...options, '--', id]
    : [noun, verb, id, ...options];
  return [program, ...words.map(quoted)].join(' ');
}

/** Quotes a word for a POSIX shell. Control characters are written as escapes: the terminal must not act on them. */
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
