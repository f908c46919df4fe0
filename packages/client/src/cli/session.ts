import { ContentReviewError } from '../index.ts';
import { CommandFailed, EXIT, type ExitCode, interruptible } from './exit-codes.ts';
import { failureOf } from './failures.ts';
import type { ServiceConnection, ServiceFlags, ServiceIo } from './flags.ts';
import type { Io } from './io.ts';
import { CommandProgress } from './progress.ts';

/** Run of a command that calls the service. */
export interface Session extends ServiceConnection {
  readonly io: Io;
  readonly flags: ServiceFlags;
  readonly progress: CommandProgress;
  /** Aborts with Interrupted. */
  readonly signal: AbortSignal;
  /** Command that continues this one; failures show it. */
  next?: string;
  /** Batch or import whose file has arrived: it must not be submitted again. */
  sent?: string;
}

/**
 * Runs a command and reports its exit code.
 * @throws CommandFailed; ConfigError; unexpected errors.
 */
export async function runSession(
  io: ServiceIo,
  flags: ServiceFlags,
  work: (session: Session) => Promise<ExitCode>,
): Promise<void> {
  const progress = new CommandProgress(io);
  const connection = await io.connect(flags, io.env, retryNotes(progress));
  let session: Session | undefined;
  try {
    await interruptible(async (signal) => {
      session = { ...connection, io, flags, progress, signal };
      io.finish(await work(session));
    });
  } catch (error) {
    progress.clear();
    const isKnown = error instanceof CommandFailed;
    if (!isKnown && !(error instanceof ContentReviewError)) throw error;
    const { message, code } = isKnown ? error : failureOf(error, connection);
    const { sent, next } = session ?? {};
    if (next === undefined || (!isKnown && code === EXIT.usage && sent === undefined))
      throw new CommandFailed(message, code);
    const fate = `The file was sent, and ${sent} has it: do not submit it again. `;
    throw new CommandFailed(
      `${isKnown || sent === undefined ? '' : fate}${message}\nTo continue:\n  ${next}`,
      !isKnown && code === EXIT.usage ? EXIT.failure : code,
    );
  } finally {
    await connection.client.close();
  }
}

/** Notes each retry, and consecutive retries for the same reason once. */
function retryNotes(progress: CommandProgress): (operation: string, reason: string) => void {
  let last = '';
  return (operation, reason) => {
    const empty = operation.startsWith('create_') ? ' (what it may have created stays empty)' : '';
    const text = `${operation}: ${reason}${empty}, trying again`;
    if (text !== last) progress.note(text);
    last = text;
  };
}
