/** Files of the storage. An object exists whole or not at all: it is written aside and renamed. */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

const PART = '.part';

interface WrittenObject {
  readonly bytes: number;
  /** Hash of the object. That of S3 is not always its MD5, either, which a FIPS policy refuses. */
  readonly etag: string;
}

export class ObjectStore {
  readonly #directory: string;

  /** Creates the folders, and removes what a killed process left half-written. */
  constructor(directory: string, folders: readonly string[]) {
    this.#directory = directory;
    for (const folder of folders) {
      const path = join(directory, folder);
      mkdirSync(path, { recursive: true });
      for (const name of readdirSync(path)) if (name.endsWith(PART)) rmSync(join(path, name));
    }
  }

  /**
   * Bytes of an object; undefined when there is none.
   * @param name path below the storage, such as `uploads/1.csv`
   */
  size(name: string): number | undefined {
    return statSync(join(this.#directory, name), { throwIfNoEntry: false })?.size;
  }

  /** Stream whose errors reach those who iterate it; one that is not read to its end is harmless. */
  read(name: string): Readable {
    return createReadStream(join(this.#directory, name)).on('error', () => {});
  }

  /**
   * Writes an object, in place of an earlier one of the same name.
   * @param accept decides at the end whether the object is kept. Default: always.
   * @throws what `chunks` or `accept` throws; the earlier object then stays.
   */
  async write(
    name: string,
    chunks: AsyncIterable<Buffer | string>,
    accept: (written: WrittenObject) => boolean = () => true,
  ): Promise<WrittenObject> {
    const path = join(this.#directory, name);
    const part = `${path}.${randomUUID()}${PART}`;
    const hash = createHash('sha256');
    let bytes = 0;
    async function* measured() {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += Buffer.byteLength(chunk);
        yield chunk;
      }
    }
    try {
      await writeFile(part, measured(), { flag: 'wx' });
      const written = { bytes, etag: `"${hash.digest('hex')}"` };
      if (accept(written)) await rename(part, path);
      return written;
    } finally {
      await rm(part, { force: true });
    }
  }
}
