/**
 * Results in a file. It is written under another name beside its own, which it gets when it is whole: a download that
 * breaks, or is interrupted, leaves nothing that looks like results.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { exists, unwritable, writing } from './output-problem.ts';
import type { Output } from './output-type.ts';
import { removeOnExit } from './remove-on-exit.ts';

/** Of the name, so that the draft's is not too long for the file system: 4 bytes each at most. */
const NAME_CHARACTERS = 50;
const PERMISSIONS = 0o777;
const NEW_FILE = 0o666;

export class FileOutput implements Output {
  readonly #target: string;
  readonly #force: boolean;
  readonly #draft: string;
  readonly #handle: FileHandle;
  readonly #keep: () => void;
  #open = true;

  private constructor(target: string, force: boolean, draft: string, handle: FileHandle) {
    this.#target = target;
    this.#force = force;
    this.#draft = draft;
    this.#handle = handle;
    this.#keep = removeOnExit(draft);
  }

  /** A file that is replaced hands its permissions on: no one may read the results who could not. @throws BadOutput */
  static async open(target: string, force: boolean): Promise<FileOutput> {
    const name = Array.from(path.basename(target)).slice(0, NAME_CHARACTERS).join('');
    const draft = path.join(path.dirname(target), `.${name}.${randomUUID().slice(0, 8)}.part`);
    const mode = await stat(target).then(
      (there) => there.mode & PERMISSIONS,
      () => NEW_FILE,
    );
    const handle = await open(draft, 'wx', mode).catch((error) => {
      throw unwritable(target, error);
    });
    return new FileOutput(target, force, draft, handle);
  }

  async write(bytes: Uint8Array): Promise<boolean> {
    await writing(this.#target, this.#handle.appendFile(bytes));
    return true;
  }

  async complete(): Promise<void> {
    await writing(this.#target, this.#saved());
    this.#keep();
  }

  async discard(): Promise<void> {
    await this.#close();
    await rm(this.#draft, { force: true });
    this.#keep();
  }

  async #saved(): Promise<void> {
    await this.#handle.sync();
    await this.#close();
    if (this.#force) await rename(this.#draft, this.#target);
    else await moveUnlessTaken(this.#draft, this.#target);
  }

  async #close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#handle.close();
  }
}

/** File systems without hard links. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
]);

/** A link never replaces what is there; a rename would. */
async function moveUnlessTaken(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isTaken = () =>
      stat(to).then(
        () => true,
        () => false,
      );
    if (code === 'EEXIST' || (NO_LINKS.has(code) && (await isTaken()))) throw exists(to);
    if (!NO_LINKS.has(code)) throw error;
    await rename(from, to);
    return;
  }
  await rm(from);
}
