/** Why results cannot be written, in words. */
import { printable } from '../printable.ts';

/** Results cannot go where they were to go: the user has to name another place. */
export class BadOutput extends Error {
  override readonly name = 'BadOutput';
}

/** Results could be written there, and then no longer. */
export class OutputFailed extends Error {
  override readonly name = 'OutputFailed';
}

export const exists = (target: string) =>
  new BadOutput(
    `${printable(target)} exists already: name another file, or add --force to replace it`,
  );

/** @param error the system's. */
export const unwritable = (target: string, error: unknown) =>
  new BadOutput(`nothing can be written to ${printable(target)}: ${reason(error)}`);

/** Runs what writes. @throws OutputFailed for an error of the system; anything else as it is. */
export async function writing<T>(target: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new OutputFailed(`${printable(target)} cannot be written: ${reason(error)}`);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such directory',
  ENOTDIR: 'there is no such directory',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'what is there can only be read',
  ENAMETOOLONG: 'the name is too long',
  ENOSPC: 'no room is left',
  EDQUOT: 'no room is left for this user',
  EFBIG: 'the file is larger than this process may make one',
};

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ''] ?? message;
}
