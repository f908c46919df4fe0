import { randomUUID } from 'node:crypto';
import { constants, rmSync, type Stats } from 'node:fs';
import { access, open, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { CommandFailed, EXIT, systemReason } from './exit-codes.ts';
import type { Io } from './io.ts';
import { printable, printableLines } from './text.ts';

export const STANDARD_OUTPUT = '-';

/** Destination of results. */
export interface OutputPlace {
  /** `-` is standard output. */
  readonly target: string;
  /** True if an existing file is replaced. */
  readonly force: boolean;
}

/** Open destination of results. */
export interface Output {
  /** @returns false when the reader is gone. @throws OutputFailed */
  write(bytes: Uint8Array): Promise<boolean>;
  /** Ends a complete output. @throws OutputFailed; BadOutput when a file of that name has appeared meanwhile. */
  complete(): Promise<void>;
  /** Removes an incomplete file. Repeatable, also after `complete`. */
  discard(): Promise<void>;
}

/** Destination that cannot be used: the user has to name another one. */
export class BadOutput extends CommandFailed {}

/** Destination that was usable, and failed later. */
export class OutputFailed extends CommandFailed {}

/** Waits for a write. @throws OutputFailed for an error of the system; any other error unchanged. */
export async function writing<T>(target: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const why = `${printable(target)} cannot be written: ${systemReason(error)}`;
    throw new OutputFailed(why, EXIT.failure);
  }
}

/**
 * Checks a destination before anything is sent or waited for.
 * @param source file that is submitted; results never replace it.
 * @throws BadOutput
 */
export async function mustBeWritable(
  { target, force }: OutputPlace,
  source?: string,
): Promise<void> {
  if (target === STANDARD_OUTPUT) return;
  if (target === '') throw new BadOutput('--output needs the name of a file');
  const there = await statOf(target);
  if (there?.isDirectory())
    throw new BadOutput(`${printable(target)} is a directory: name a file in it`);
  if (there?.isFile() === false)
    throw new BadOutput(`${printable(target)} is no regular file: name one, or - for a pipe`);
  const directory = path.dirname(target);
  await access(directory, constants.W_OK).catch((error) => unwritable(directory, error));
  if (there === undefined) return;
  const submitted = source === undefined ? undefined : await stat(source).catch(() => undefined);
  if (submitted?.dev === there.dev && submitted.ino === there.ino)
    throw new BadOutput(`${printable(target)} is the file that is submitted: name another one`);
  if (!force) throw exists(target);
}

/** Opens a destination. @throws BadOutput */
export async function openOutput(io: Io, place: OutputPlace): Promise<Output> {
  const { target, force } = place;
  if (target === STANDARD_OUTPUT) return standardOutput(io);
  await mustBeWritable(place);
  const there = await statOf(target);
  return await fileOutput(there === undefined ? target : await realpath(target), force, there);
}

const exists = (target: string) =>
  new BadOutput(
    `${printable(target)} exists already: name another file, or add --force to replace it`,
  );

function unwritable(target: string, error: unknown): never {
  throw new BadOutput(`nothing can be written to ${printable(target)}: ${systemReason(error)}`);
}

/** @returns undefined when there is nothing. @throws BadOutput */
async function statOf(target: string): Promise<Stats | undefined> {
  return await stat(target).catch((error) =>
    error.code === 'ENOENT' ? undefined : unwritable(target, error),
  );
}

/** Content must not control the terminal. */
function standardOutput(io: Io): Output {
  const decoder = new TextDecoder();
  const shown = (bytes: Uint8Array) =>
    Buffer.from(printableLines(decoder.decode(bytes, { stream: true }).replaceAll('\r\n', '\n')));
  return {
    write: (bytes) => writing('standard output', io.data(io.outIsTerminal ? shown(bytes) : bytes)),
    complete: async () => {},
    discard: async () => {},
  };
}

/** Characters of the name that the draft's name repeats. Each takes up to 4 bytes, and file systems limit the length of a name. */
const NAME_CHARACTERS = 50;
const PERMISSIONS = 0o777;
const NEW_FILE = 0o666;

/** File that has its name only when it is complete; a replaced file hands its permissions on. */
async function fileOutput(target: string, force: boolean, there?: Stats): Promise<Output> {
  const name = Array.from(path.basename(target)).slice(0, NAME_CHARACTERS).join('');
  const draft = path.join(path.dirname(target), `.${name}.${randomUUID().slice(0, 8)}.part`);
  const mode = there === undefined ? NEW_FILE : there.mode & PERMISSIONS;
  const handle = await open(draft, 'wx', mode).catch((error) => unwritable(target, error));
  const remove = () => rmSync(draft, { force: true });
  process.on('exit', remove);
  const save = async () => {
    await handle.sync();
    await handle.close();
    if (!force && (await statOf(target)) !== undefined) throw exists(target);
    await rename(draft, target);
  };
  return {
    write: async (bytes) => {
      await writing(target, handle.appendFile(bytes));
      return true;
    },
    complete: () => writing(target, save()),
    discard: async () => {
      await handle.close();
      await rm(draft, { force: true });
      process.off('exit', remove);
    },
  };
}
