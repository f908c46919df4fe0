import { getSystemErrorMessage } from 'node:util';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** Failure of a command in the words that a person reads, with its exit code. */
export class CommandFailed extends Error {
  readonly code: ExitCode;

  /** @param code Default: wrong arguments or input. */
  constructor(message: string, code: ExitCode = EXIT.usage) {
    super(message);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Returns the cause of a failed system call, such as `no such file or directory`; otherwise the message of the error. */
export function systemReason(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  return errno === undefined ? message : getSystemErrorMessage(errno);
}
