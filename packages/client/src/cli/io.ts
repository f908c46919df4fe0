import type { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { type EXIT, type ExitCode, exitCodeTable } from './exit-codes.ts';

/** Name of the program in package.json. */
export const PROGRAM = 'content-review-connector';
/**
 * Returns the part of a command's help that follows the options.
 * @param examples command lines without the program's name
 * @param codes names of the command's exit codes
 */
export function helpText(
  examples: readonly string[],
  notes = '',
  ...codes: readonly (keyof typeof EXIT)[]
): string {
  const lines = examples.map((example) => `\n  $ ${PROGRAM} ${example}`);
  const meanings = codes.length === 0 ? '' : exitCodeTable(codes);
  const parts = [notes, meanings, `Examples:${lines.join('')}`].filter(Boolean);
  return `\n${parts.join('\n\n')}`;
}

const STDOUT = 1;
const STDERR = 2;

/** Environment of a command. Tests replace it. */
export interface Io {
  readonly env: NodeJS.ProcessEnv;
  readonly outIsTerminal: boolean;
  /** Columns of the terminal at standard error. undefined if it is not a terminal that can move its cursor. */
  errColumns(): number | undefined;
  out(text: string): void;
  err(text: string): void;
  /** Writes to standard output, waiting for a slow reader. @returns false if the reader has closed it */
  data(bytes: Uint8Array): Promise<boolean>;
  /** Sets the exit code. */
  finish(code: ExitCode): void;
}

/** Destinations of text. A returned promise resolves once the text has left the process. */
export interface Outlet
  extends Pick<Io, 'env'>,
    Partial<Omit<Io, 'env' | 'out' | 'err' | 'finish'>> {
  out(text: string): void | Promise<void>;
  err(text: string): void | Promise<void>;
}

export const processOutlet: Outlet = {
  env: process.env,
  // Opened only when there is text to write. Opening a pipe makes it non-blocking, which would
  // affect the log too.
  out: async (text) => void (await writeTo(process.stdout, text)),
  err: async (text) => void (await writeTo(process.stderr, text)),
  data: (bytes) => writeTo(process.stdout, bytes),
  outIsTerminal: isatty(STDOUT),
  errColumns: () =>
    isatty(STDERR) && process.env.TERM !== 'dumb' ? process.stderr.columns || 80 : undefined,
};

const ignored = () => {};

/** Error codes of the first write, and of later writes, to a pipe that the reader has closed. */
const READER_GONE: readonly unknown[] = ['EPIPE', 'ERR_STREAM_DESTROYED'];

/** Writes to a stream. @returns false if the reader has closed it (`| head`). That is not a failure of the command */
function writeTo(stream: Writable, text: string | Uint8Array): Promise<boolean> {
  // The callback receives errors. Without a listener, the stream would throw them as well.
  if (!stream.listeners('error').includes(ignored)) stream.on('error', ignored);
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      const isGone = READER_GONE.includes((error as NodeJS.ErrnoException | null)?.code);
      if (error && !isGone) reject(error);
      else resolve(!isGone);
    });
  });
}
