/** Results into what has no other name and is never half there: a named pipe, /dev/null. */
import { constants, open } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { writeTo } from '../io.ts';
import { unwritable, writing } from './output-problem.ts';
import type { Output } from './output-type.ts';

const LOOK_AGAIN_MS = 50;

/**
 * A named pipe, once somebody reads it. It is never waited for in the system: that would hold up even the end of the process.
 * @throws BadOutput; the signal's reason.
 */
export async function pipeOutput(target: string, signal: AbortSignal): Promise<Output> {
  const socket = new Socket({
    fd: await openForReader(target, signal),
    readable: false,
    writable: true,
  });
  return {
    write: (bytes) => writing(target, writeTo(socket, bytes)),
    complete: async () => void socket.end(),
    discard: async () => {
      if (!socket.writableEnded) socket.destroy();
    },
  };
}

async function openForReader(target: string, signal: AbortSignal): Promise<number> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await promisify(open)(target, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      // Nobody reads yet.
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw unwritable(target, error);
    }
    await sleep(LOOK_AGAIN_MS, undefined, { signal }).catch(() => {});
  }
}

/** A device. @throws BadOutput */
export async function deviceOutput(target: string): Promise<Output> {
  const handle = await openFile(target, 'w').catch((error) => {
    throw unwritable(target, error);
  });
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await handle.close();
  };
  return {
    write: async (bytes) => {
      await writing(target, handle.writeFile(bytes));
      return true;
    },
    complete: close,
    discard: close,
  };
}
