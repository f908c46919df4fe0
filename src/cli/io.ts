import path from 'node:path';
import type { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import type { Environment } from '../config/load/interpolate.ts';

/** As package.json installs it. */
export const PROGRAM = 'content-review-connector';
const STDOUT = 1;
const STDERR = 2;
const DEFAULT_COLUMNS = 80;

/** What a command may touch, so that tests can watch it. */
export interface Io {
  readonly env: Environment;
  /** How this program was called: the words before its arguments. */
  readonly program: string;
  readonly outIsTerminal: boolean;
  /** Columns of the terminal behind standard error; undefined when there is none, or none that can move its cursor. */
  errColumns(): number | undefined;
  out(text: string): void;
  err(text: string): void;
  /** To standard output, at its reader's speed. @returns false when the reader has gone. */
  data(bytes: Uint8Array): Promise<boolean>;
}

/** Where it goes: a promise resolves when the text has left the process, for a reader may be slow. */
export interface Outlet
  extends Pick<Io, 'env'>,
    Partial<Pick<Io, 'program' | 'outIsTerminal' | 'errColumns'>> {
  out(text: string): void | Promise<void>;
  err(text: string): void | Promise<void>;
  data?(bytes: Uint8Array): Promise<boolean>;
}

export const processOutlet: Outlet = {
  env: process.env,
  // Not before there is something to say: opening a stream makes its pipe one that does not block, for the log as well.
  out: async (text) => void (await writeTo(process.stdout, text)),
  err: async (text) => void (await writeTo(process.stderr, text)),
  data: (bytes) => writeTo(process.stdout, bytes),
  program: programOf(process.argv, process.env),
  outIsTerminal: isatty(STDOUT),
  errColumns: () =>
    isatty(STDERR) && process.env.TERM !== 'dumb'
      ? process.stderr.columns || DEFAULT_COLUMNS
      : undefined,
};

/** Of the command that was typed: through npm, the package's name on the PATH, or the script itself. */
function programOf([, script = '']: readonly string[], env: Environment): string {
  if (env.npm_lifecycle_event === 'start') return 'npm start --';
  const name = path.basename(script);
  return name === PROGRAM ? name : `node ${path.relative('', script)}`;
}

const ignored = () => {};

/** A reader that has gone (`| head`) wants no more: the command ends as it would have, with its exit code. @returns whether it is there */
export function writeTo(stream: Writable, text: string | Uint8Array): Promise<boolean> {
  // The callback tells it as well; without a listener it would be thrown.
  if (!stream.listeners('error').includes(ignored)) stream.on('error', ignored);
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      if (error === null || error === undefined) resolve(true);
      else if (READER_GONE.has((error as NodeJS.ErrnoException).code ?? '')) resolve(false);
      else reject(error);
    });
  });
}

/** The second is what every write after the first one hears. */
const READER_GONE: ReadonlySet<string> = new Set(['EPIPE', 'ERR_STREAM_DESTROYED']);

/** How a command reports the code that the process ends with. */
export type Finish = (code: number) => void;
