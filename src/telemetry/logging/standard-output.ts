/**
 * Standard output for log lines, when it is a pipe or a socket: as container runtimes, systemd and shells give it.
 *
 * A reader that stops reading must not stop the connector: a write that blocks holds up every loop, heartbeats included. So
 * a line goes out at once while the reader keeps up, waits in memory when it does not, and is dropped when too many wait.
 */
import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';

/** Lines that wait for a slow reader, bytes of UTF-16 at most. */
const MAX_WAITING_BYTES = 1024 * 1024;

export interface LogSink {
  write(line: string): void;
}

/** Whether file descriptor `fd` is a pipe or a socket. Writes to files and terminals are left to block: they end. */
export function isPipe(fd: number): boolean {
  const stat = fstatSync(fd);
  return stat.isFIFO() || stat.isSocket();
}

export class PipeSink implements LogSink {
  readonly #pipe: Socket;
  readonly #onDropped: (lines: number) => void;
  #closed = false;

  /** @param onDropped is told of lines that nobody will read. */
  constructor(fd: number, onDropped: (lines: number) => void) {
    // The kernel takes a line at once if it has room for it, so that what was logged just before a crash is there to read.
    this.#pipe = new Socket({ fd, readable: false, writable: true });
    this.#pipe.unref();
    this.#onDropped = onDropped;
    // The reader is gone: no reason to end, but nobody is left to write to.
    this.#pipe.on('error', () => {
      this.#closed = true;
    });
  }

  write(line: string): void {
    if (this.#closed || this.#pipe.writableLength + line.length > MAX_WAITING_BYTES)
      this.#onDropped(1);
    else this.#pipe.write(line);
  }
}
