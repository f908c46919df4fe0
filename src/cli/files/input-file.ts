/**
 * What is submitted: a file that is held open, so that what was checked is what is sent also when its name changes hands.
 * Standard input, and what else has no length of its own, is copied to a temporary file: storage takes no upload of
 * unknown length, and an upload may have to be tried again.
 */
import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { BadFile } from './findings.ts';
import { pipeSource } from './pipe-source.ts';
import { spooled } from './spool.ts';

const CHUNK_BYTES = 256 * 1024;

export const STANDARD_INPUT = '-';

/** The file is not the one that was checked. */
export class FileChanged extends Error {
  override readonly name = 'FileChanged';
}

export class InputFile {
  /** As a message calls it. */
  readonly name: string;
  /** Its size when it was opened. */
  readonly bytes: number;
  readonly #handle: FileHandle;
  readonly #version: string;

  constructor(name: string, handle: FileHandle, stats: Stats) {
    this.name = name;
    this.bytes = stats.size;
    this.#handle = handle;
    this.#version = versionOf(stats);
  }

  /** The first bytes, or fewer. */
  async head(bytes: number): Promise<Buffer> {
    const buffer = Buffer.alloc(Math.min(bytes, this.bytes));
    const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  }

  /** From an offset up to the size it had when it was opened. @throws the signal's reason. */
  async *read(from: number, signal?: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    for (let at = from; at < this.bytes; ) {
      signal?.throwIfAborted();
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, this.bytes - at));
      const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /**
   * From an offset on, as it was when its digest was taken.
   * @param digest SHA-256 of the whole file.
   * @throws FileChanged behind the last chunk but one: an upload that was promised all bytes is never complete then.
   */
  async *readChecked(from: number, digest: string): AsyncGenerator<Buffer, void, undefined> {
    const hash = createHash('sha256').update(await this.head(from));
    let held: Buffer | undefined;
    for await (const chunk of this.read(from)) {
      hash.update(chunk);
      if (held !== undefined) yield held;
      held = chunk;
    }
    if (hash.digest('hex') !== digest) throw this.#changed();
    if (held !== undefined) yield held;
  }

  /** @throws FileChanged */
  async mustBeUnchanged(): Promise<void> {
    if (versionOf(await this.#handle.stat()) !== this.#version) throw this.#changed();
  }

  /** Repeatable. */
  async close(): Promise<void> {
    await this.#handle.close();
  }

  #changed(): FileChanged {
    return new FileChanged(`${this.name} changed while it was being read`);
  }
}

const versionOf = ({ size, mtimeMs }: Stats) => `${size}/${mtimeMs}`;

/**
 * @param path `-` is standard input. Its length, or that of a pipe, is found by copying it.
 * @throws BadFile for what cannot be read; the signal's reason.
 */
export async function openInput(
  path: string,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<InputFile> {
  const isStandard = path === STANDARD_INPUT || path === '/dev/stdin';
  if (isStandard) return await copied('standard input', process.stdin, signal, onProgress);
  const unreadable = (error: NodeJS.ErrnoException) => {
    if (error === signal.reason) throw error;
    throw new BadFile(path, `cannot be read: ${reason(error)}.`);
  };
  const stats = await stat(path).catch(unreadable);
  if (stats.isDirectory()) throw new BadFile(path, 'is a directory.');
  if (stats.isFIFO())
    return await copied(path, await pipeSource(path, signal).catch(unreadable), signal, onProgress);
  const handle = await open(path, 'r').catch(unreadable);
  if (!stats.isFile()) return await copied(path, handle.createReadStream(), signal, onProgress);
  try {
    return new InputFile(path, handle, await handle.stat());
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function copied(
  name: string,
  source: NodeJS.ReadableStream,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<InputFile> {
  const handle = await spooled(source, signal, onProgress);
  return new InputFile(name, handle, await handle.stat());
}

function reason({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'there is no such file';
  return code === 'EACCES' || code === 'EPERM' ? 'this user may not read it' : message;
}
