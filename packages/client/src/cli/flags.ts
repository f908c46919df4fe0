import type { ContentReviewClient, ContentReviewClientOptions } from '../index.ts';
import type { Io } from './io.ts';
import { printableLines } from './text.ts';

/** Options of the commands that call the service; each command has some of them. */
export type ServiceFlags = Readonly<
  { config: string } & Partial<{
    json: true;
    wait: true;
    /** In ms. */
    timeout: number;
    type: string;
    output: string;
    force: true;
    resultColumn: string;
  }>
>;

/**
 * Returns a command line with the connection of this one, to be copied and run.
 * @param command its two words, the id, and options; undefined ones are left out.
 */
export function commandLine(
  { program }: Pick<Io, 'program'>,
  [noun, verb, id, ...rest]: readonly [string, string, string, ...(string | undefined)[]],
  { config }: Pick<ServiceFlags, 'config'>,
): string {
  const options = [...rest.filter((word) => word !== undefined), '--config', config];
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
  const escaped = word.replace(/[^ -~]|['\\]/gu, (character) =>
    Array.from(Buffer.from(character), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(
      '',
    ),
  );
  return `$'${escaped}'`;
}

/** Client of the service, and details of the connection for messages. */
export interface ServiceConnection {
  readonly client: ContentReviewClient;
  readonly baseUrl: string;
  /** Source of the API key. */
  readonly keyFrom: string;
}

/** Surroundings of a command that calls the service. */
export interface ServiceIo extends Io {
  /** Makes the client that the options of the command line describe. Sends nothing. @throws CommandFailed, or the program's own error for a configuration */
  connect(
    flags: ServiceFlags,
    env: NodeJS.ProcessEnv,
    onRetry: NonNullable<ContentReviewClientOptions['onRetry']>,
  ): Promise<ServiceConnection>;
}
