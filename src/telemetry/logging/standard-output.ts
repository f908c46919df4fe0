/**
 * Standard output for log lines. Container runtimes, systemd and shells make it a pipe or a socket,
 * whose reader may stop: a blocking write would then stop every loop, heartbeats included. So a
 * line is written at once while the reader keeps up, queued when it does not, and dropped when the
 * queue is full.
 */
import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { type DestinationStream, destination } from 'pino';

const STANDARD_OUTPUT = 1;
/** Limit of the queue, UTF-16 units. */
const MAX_QUEUED = 1024 * 1024;

/** @param onDropped is called for lines that cannot be written */
export function standardOutput(onDropped: (lines: number) => void): DestinationStream {
  const stat = fstatSync(STANDARD_OUTPUT);
  // Blocking writes to a file or a terminal end.
  if (!stat.isFIFO() && !stat.isSocket()) return destination({ dest: STANDARD_OUTPUT, sync: true });
  // The kernel takes a line at once if it has room: the lines before a crash are written.
  const pipe = new Socket({ fd: STANDARD_OUTPUT, readable: false, writable: true });
  let isOpen = true;
  pipe.unref();
  pipe.on('error', () => {
    isOpen = false;
  });
  return {
    write(line) {
      if (isOpen && pipe.writableLength + line.length <= MAX_QUEUED) pipe.write(line);
      else onDropped(1);
    },
  };
}
