import { createHash, randomUUID } from 'node:crypto';
import { constants, createReadStream, open as openCallback, type Stats } from 'node:fs';
import { type FileHandle, open, stat, unlink } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { CommandFailed, EXIT, systemReason } from '../exit-codes.ts';
import { BadFile } from './findings.ts';

const CHUNK_BYTES = 256 * 1024;
const OWNER_ONLY = 0o600;

/**
 * File to submit. It stays open, so that the bytes that were checked are sent even when another file takes its name.
 * Standard input, and anything else without a length, is copied to a temporary file: the storage requires the length of an
 * upload, and an upload may be retried.
 */
export class InputFile {
  /** Name in messages. */
  readonly name: string;
  /** Size when the file was opened. */
  readonly bytes: number;
  readonly #handle: FileHandle;

  constructor(name: string, handle: FileHandle, { size }: Stats) {
    this.name = name;
    this.bytes = size;
    this.#handle = handle;
  }

  /** Returns the first bytes, or fewer. */
  async head(bytes: number): Promise<Buffer> {
    const buffer = Buffer.alloc(Math.min(bytes, this.bytes));
    const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  }

  /** Reads from an offset up to the size when the file was opened. */
  async *read(from = 0): AsyncGenerator<Buffer, void, undefined> {
    for (let at = from; at < this.bytes; ) {
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, this.bytes - at));
      const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /**
   * Reads from an offset on, with the bytes of which the digest was taken.
   * @param digest SHA-256 of the whole file.
   * @throws CommandFailed before the last chunk, so that the storage never receives all bytes of a changed file.
   */
  async *readChecked(from: number, digest: string): AsyncGenerator<Buffer, void, undefined> {
    const hash = createHash('sha256').update(await this.head(from));
    let last: Buffer | undefined;
    for await (const chunk of this.read(from)) {
      hash.update(chunk);
      if (last !== undefined) yield last;
      last = chunk;
    }
    const { size } = await this.#handle.stat();
    if (hash.digest('hex') !== digest || size !== this.bytes)
      throw new CommandFailed(
        `${this.name} changed while it was being read: submit it again when it is finished.`,
        EXIT.failure,
      );
    if (last !== undefined) yield last;
  }

  /** Repeatable. */
  close(): Promise<void> {
    return this.#handle.close();
  }
}

/**
 * Opens a file to submit.
 * @param file `-` is standard input.
 * @param onProgress called with the bytes copied so far, where the length is not known.
 * @throws BadFile for a file that cannot be read; CommandFailed for a copy that fails; the signal's reason.
 */
export async function openInput(
  file: string,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<InputFile> {
  if (file === '-' || file === '/dev/stdin')
    return await copied('standard input', process.stdin, signal, onProgress);
  const unreadable = (error: unknown) => {
    throw new BadFile(file, `cannot be read: ${systemReason(error)}.`);
  };

  const stats = await stat(file).catch(unreadable);
  if (stats.isDirectory()) throw new BadFile(file, 'is a directory.');
  if (stats.isFile()) {
    const handle = await open(file).catch(unreadable);
    return new InputFile(file, handle, await handle.stat());
  }
  // A read of a silent pipe would block even the exit of the process; a socket can be destroyed.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const fd = await promisify(openCallback)(file, flags).catch(unreadable);
  const source = stats.isFIFO()
    ? new Socket({ fd, readable: true, writable: false })
    : createReadStream('', { fd });
  return await copied(file, source, signal, onProgress);
}

/**
 * Copies a stream to a file that only this user can read, and that has no name any more: not even SIGKILL leaves it behind.
 */
async function copied(
  name: string,
  source: NodeJS.ReadableStream,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<InputFile> {
  const copy = path.join(tmpdir(), `content-review-${randomUUID()}`);
  const failed = (error: unknown) => {
    const why = `${name} cannot be copied to ${tmpdir()}: ${systemReason(error)}`;
    throw new CommandFailed(`${why}; set TMPDIR to a directory with room for it`, EXIT.failure);
  };
  const handle = await open(copy, 'wx+', OWNER_ONLY).catch(failed);
  await unlink(copy);
  const report = async function* (chunks: AsyncIterable<Buffer>) {
    let bytes = 0;
    for await (const chunk of chunks) {
      yield chunk;
      bytes += chunk.length;
      onProgress(bytes);
    }
  };
  try {
    await pipeline(source, report, (chunks) => handle.writeFile(chunks), { signal });
    return new InputFile(name, handle, await handle.stat());
  } catch (error) {
    await handle.close();
    signal.throwIfAborted();
    return failed(error);
  }
}
