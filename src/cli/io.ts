import type { Environment } from '../config/interpolate.ts';

/** What a command may touch, so that tests can watch it. */
export interface Io {
  readonly env: Environment;
  out(text: string): void;
  err(text: string): void;
}

/** Where it goes: a promise resolves when the text has left the process, for a reader may be slow. */
export interface Outlet {
  readonly env: Environment;
  out(text: string): void | Promise<void>;
  err(text: string): void | Promise<void>;
}

export const processOutlet: Outlet = {
  env: process.env,
  // Not before there is something to say: opening a stream makes its pipe one that does not block, for the log as well.
  out: (text) => write(process.stdout, text),
  err: (text) => write(process.stderr, text),
};

const ignored = () => {};

/** A reader that has gone (`| head`) wants no more: the command ends as it would have, with its exit code. */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  // The callback tells it as well; without a listener it would be thrown.
  if (!stream.listeners('error').includes(ignored)) stream.on('error', ignored);
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      if (error === null || error === undefined || READER_GONE.has((error as NodeJS.ErrnoException).code ?? '')) resolve();
      else reject(error);
    });
  });
}

/** The second is what every write after the first one hears. */
const READER_GONE: ReadonlySet<string> = new Set(['EPIPE', 'ERR_STREAM_DESTROYED']);

/** How a command reports the code that the process ends with. */
export type Finish = (code: number) => void;
