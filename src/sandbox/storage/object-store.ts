/** Files of the storage. An object is there whole or not at all: it is written aside and renamed. */
import { createHash, type Hash, randomUUID } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ByteRange } from './byte-range.ts';

const PART = '.part';

export interface ObjectInfo {
  readonly bytes: number;
  readonly modifiedMs: number;
}

/** An object being written. Exactly one of `keep` and `discard` ends it. */
export interface Draft {
  readonly bytes: number;
  write(chunk: Buffer | string): Promise<void>;
  /** MD5 of everything written. Ends the writing. */
  md5(): Buffer;
  /** Makes it the object of its name, in place of an earlier one. */
  keep(): Promise<void>;
  discard(): Promise<void>;
}

export class ObjectStore {
  readonly #directory: string;

  /** Removes what a killed process left half-written. */
  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true });
    for (const name of readdirSync(directory))
      if (name.endsWith(PART)) rmSync(join(directory, name));
  }

  path(name: string): string {
    return join(this.#directory, name);
  }

  has(name: string): boolean {
    return existsSync(this.path(name));
  }

  /** undefined when there is no such object. */
  async info(name: string): Promise<ObjectInfo | undefined> {
    const file = await stat(this.path(name)).catch(() => undefined);
    return file && { bytes: file.size, modifiedMs: file.mtimeMs };
  }

  read(name: string, range?: ByteRange): Readable {
    return createReadStream(this.path(name), range);
  }

  async draft(name: string): Promise<Draft> {
    const path = this.path(`${name}.${randomUUID()}${PART}`);
    return new FileDraft(await open(path, 'wx'), path, this.path(name));
  }
}

class FileDraft implements Draft {
  bytes = 0;
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #finalPath: string;
  readonly #hash: Hash = createHash('md5');
  #digest: Buffer | undefined;

  constructor(file: FileHandle, path: string, finalPath: string) {
    this.#file = file;
    this.#path = path;
    this.#finalPath = finalPath;
  }

  async write(chunk: Buffer | string): Promise<void> {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    this.#hash.update(bytes);
    this.bytes += bytes.length;
    for (let from = 0; from < bytes.length; )
      from += (await this.#file.write(bytes, from)).bytesWritten;
  }

  md5(): Buffer {
    this.#digest ??= this.#hash.digest();
    return this.#digest;
  }

  async keep(): Promise<void> {
    await this.#file.close();
    await rename(this.#path, this.#finalPath);
  }

  async discard(): Promise<void> {
    await this.#file.close();
    await rm(this.#path, { force: true });
  }
}

/** S3's ETag of an object uploaded in one piece. */
export function etagOf(md5: Buffer): string {
  return `"${md5.toString('hex')}"`;
}
