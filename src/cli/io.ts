import type { Environment } from '../config/interpolate.ts';

/** What a command may touch, so that tests can watch it. */
export interface Io {
  readonly env: Environment;
  out(text: string): void;
  err(text: string): void;
}

export const processIo: Io = {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

/** How a command reports the code that the process ends with. */
export type Finish = (code: number) => void;
