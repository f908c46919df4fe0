import { systemReason } from '../base/shown-text.ts';
import { CommandFailed, EXIT } from './exit-codes.ts';
import type { Io } from './io.ts';
import { printable, printableLines } from './text.ts';

/** Waits for a write. @throws CommandFailed for a system error, and any other error unchanged */
export async function writing<T>(target: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const why = `${printable(target)} cannot be written: ${systemReason(error)}`;
    throw new CommandFailed(why, EXIT.failure);
  }
}

/**
 * Returns a function that writes bytes to standard output. It resolves to false if the reader has
 * closed it. For a terminal, escapes control characters, because content must not control the
 * terminal.
 */
export function standardOutput(io: Io): (bytes: Uint8Array) => Promise<boolean> {
  const decoder = new TextDecoder();
  const shown = (bytes: Uint8Array) =>
    Buffer.from(printableLines(decoder.decode(bytes, { stream: true }).replaceAll('\r\n', '\n')));
  return (bytes) => writing('standard output', io.data(io.outIsTerminal ? shown(bytes) : bytes));
}
