/** Where results go: standard output, a file, a pipe. */
import type { Stats } from 'node:fs';
import { access, constants, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Io } from '../io.ts';
import { printable, printableLines } from '../printable.ts';
import { FileOutput } from './file-output.ts';
import { BadOutput, exists, unwritable, writing } from './output-problem.ts';
import type { Output } from './output-type.ts';
import { deviceOutput, pipeOutput } from './pipe-output.ts';

export const STANDARD_OUTPUT = '-';

export interface OutputPlace {
  /** `-` is standard output. */
  readonly target: string;
  readonly force: boolean;
}

/**
 * To be called before anything is sent or waited for.
 * @param source the file that is submitted: results do not replace it, whatever is said.
 * @throws BadOutput when results could not be written there.
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
  if (
    there?.isFile() &&
    source !== undefined &&
    isSame(there, await statOf(source).catch(() => undefined))
  )
    throw new BadOutput(
      `${printable(target)} is the file that is submitted: name another one for the results`,
    );
  if (there?.isFile() && !force) throw exists(target);
  if (there !== undefined && !there.isFile()) return;
  const directory = path.dirname(target);
  await access(directory, constants.W_OK).catch((error) => {
    throw unwritable(directory, error);
  });
}

/** @throws BadOutput; the signal's reason. */
export async function openOutput(io: Io, place: OutputPlace, signal: AbortSignal): Promise<Output> {
  const { target, force } = place;
  if (target === STANDARD_OUTPUT) return standardOutput(io);
  await mustBeWritable(place);
  const there = await statOf(target);
  if (there?.isFIFO()) return await pipeOutput(target, signal);
  if (there !== undefined && !there.isFile()) return await deviceOutput(target);
  return await FileOutput.open(there === undefined ? target : await realpath(target), force);
}

/** What others wrote does nothing at a terminal. */
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

const isSame = (one: Stats, other: Stats | undefined) =>
  one.dev === other?.dev && one.ino === other.ino;

/** undefined when there is nothing. @throws BadOutput */
async function statOf(target: string): Promise<Stats | undefined> {
  try {
    return await stat(target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unwritable(target, error);
  }
}
