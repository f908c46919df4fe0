/**
 * Where results go. A file is written under another name beside its own, which it gets when it is whole: a download that
 * breaks, or is interrupted, leaves nothing that looks like results.
 */
import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { access, constants, type FileHandle, link, open, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Io } from '../io.ts';
import { printable, printableLines } from '../printable.ts';
import { removeOnExit } from './remove-on-exit.ts';

export const STANDARD_OUTPUT = '-';

/** Results cannot go where they were to go: the user has to name another place. */
export class BadOutput extends Error {
  override readonly name = 'BadOutput';
}

export interface Output {
  /** @returns false when nobody reads any more: nothing is written from then on. */
  write(bytes: Uint8Array): Promise<boolean>;
  /** All is there. @throws BadOutput when a file of that name has come up meanwhile. */
  complete(): Promise<void>;
  /** Nothing of a file remains. Repeatable, also after `complete`. */
  discard(): Promise<void>;
}

export interface OutputPlace {
  /** `-` is standard output. */
  readonly target: string;
  readonly force: boolean;
}

/**
 * To be called before anything is sent or waited for.
 * @throws BadOutput when results could not be written there.
 */
export async function mustBeWritable({ target, force }: OutputPlace): Promise<void> {
  if (target === STANDARD_OUTPUT) return;
  const there = await statOf(target);
  if (there?.isDirectory()) throw new BadOutput(`${printable(target)} is a directory: name a file in it`);
  if (there?.isFile() && !force) throw exists(target);
  if (there !== undefined && !there.isFile()) return;
  const directory = path.dirname(target);
  await access(directory, constants.W_OK).catch(({ code }: NodeJS.ErrnoException) => {
    const why = code === 'ENOENT' ? 'there is no such directory' : 'this user may not write there';
    throw new BadOutput(`nothing can be written to ${printable(directory)}: ${why}`);
  });
}

export async function openOutput(io: Io, place: OutputPlace): Promise<Output> {
  if (place.target === STANDARD_OUTPUT) return standardOutput(io);
  await mustBeWritable(place);
  const there = await statOf(place.target);
  // A pipe or /dev/null takes what comes, and has no other name.
  if (there !== undefined && !there.isFile()) return plainFile(await open(place.target, 'w'));
  return await FileOutput.open(there === undefined ? place.target : await realpath(place.target), place.force);
}

class FileOutput implements Output {
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

  static async open(target: string, force: boolean): Promise<FileOutput> {
    const draft = path.join(path.dirname(target), `.${path.basename(target)}.${randomUUID().slice(0, 8)}.part`);
    return new FileOutput(target, force, draft, await open(draft, 'wx'));
  }

  async write(bytes: Uint8Array): Promise<boolean> {
    await this.#handle.appendFile(bytes);
    return true;
  }

  async complete(): Promise<void> {
    await this.#handle.sync();
    await this.#close();
    if (this.#force) await rename(this.#draft, this.#target);
    else await moveUnlessTaken(this.#draft, this.#target);
    this.#keep();
  }

  async discard(): Promise<void> {
    await this.#close();
    await rm(this.#draft, { force: true });
    this.#keep();
  }

  async #close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#handle.close();
  }
}

/** File systems without hard links. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** A link never replaces what is there; a rename would. */
async function moveUnlessTaken(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || (NO_LINKS.has(code) && (await statOf(to)) !== undefined)) throw exists(to);
    if (!NO_LINKS.has(code)) throw error;
    await rename(from, to);
    return;
  }
  await rm(from);
}

function plainFile(handle: FileHandle): Output {
  let isOpen = true;
  const close = async () => {
    if (isOpen) {
      isOpen = false;
      await handle.close();
    }
  };
  return {
    write: async (bytes) => {
      await handle.writeFile(bytes);
      return true;
    },
    complete: close,
    discard: close,
  };
}

/** What others wrote does nothing at a terminal. */
function standardOutput(io: Io): Output {
  const decoder = new TextDecoder();
  const shown = (bytes: Uint8Array) =>
    Buffer.from(printableLines(decoder.decode(bytes, { stream: true }).replaceAll('\r\n', '\n')));
  return {
    write: (bytes) => io.data(io.outIsTerminal ? shown(bytes) : bytes),
    complete: async () => {},
    discard: async () => {},
  };
}

const exists = (target: string) =>
  new BadOutput(`${printable(target)} exists already: name another file, or add --force to replace it`);

/** undefined when there is nothing. */
async function statOf(target: string): Promise<Stats | undefined> {
  try {
    return await stat(target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
