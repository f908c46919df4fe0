/** A stream in a file of its own that nobody else can read, and that is gone when the process is. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { removeOnExit } from './remove-on-exit.ts';

const OWNER_ONLY = 0o600;

/**
 * Copies a stream to its end.
 * @returns the file, open for reading. Where the system allows it, it has no name any more: then not even SIGKILL leaves it behind.
 * @throws the system's error; Error with what to do for a full disk; the signal's reason.
 */
export async function spooled(
  source: NodeJS.ReadableStream,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<FileHandle> {
  const file = path.join(tmpdir(), `content-review-${randomUUID()}`);
  const handle = await open(file, 'wx+', OWNER_ONLY).catch((cause) => {
    throw new Error(
      `what is read cannot be kept in ${tmpdir()}: set TMPDIR to a directory that can be written to`,
      { cause },
    );
  });
  // A system that cannot remove an open file keeps its name until the process ends.
  await unlink(file).catch(() => removeOnExit(file));
  const stream = source as Readable;
  const stop = () => stream.destroy(signal.reason);
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      await handle.appendFile(chunk);
      bytes += chunk.length;
      onProgress(bytes);
    }
    signal.throwIfAborted();
    return handle;
  } catch (error) {
    await handle.close();
    signal.throwIfAborted();
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    throw new Error(
      `no room in ${tmpdir()} to keep what is read: set TMPDIR to a directory with more`,
      { cause: error },
    );
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
