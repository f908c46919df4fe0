/** A named pipe as a stream that a signal can end: reads of a file would hold up even the end of the process. */
import { close, closeSync, constants, open, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const LET_GO_MS = 10;

/**
 * Opens it, which takes until somebody writes to it.
 * @throws the system's error; the signal's reason.
 */
export async function pipeSource(path: string, signal: AbortSignal): Promise<Readable> {
  let letGo: NodeJS.Timeout | undefined;
  const onAbort = () => {
    // Again and again: the system may not even have begun to wait.
    letGo = setInterval(() => writeNothing(path), LET_GO_MS);
  };
  signal.throwIfAborted();
  signal.addEventListener('abort', onAbort);
  let fd: number;
  try {
    fd = await promisify(open)(path, 'r');
  } finally {
    signal.removeEventListener('abort', onAbort);
    clearInterval(letGo);
  }
  if (signal.aborted) {
    await promisify(close)(fd);
    throw signal.reason;
  }
  return new Socket({ fd, readable: true, writable: false });
}

/** Whoever waits for a writer has had one then. */
function writeNothing(path: string): void {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch {
    // Nobody waits there any more.
  }
}
