import { systemReason } from '../base/shown-text.ts';
import { CommandFailed, EXIT, type ExitCode, interruptible } from '../cli/exit-codes.ts';
import type { Io } from '../cli/io.ts';
import { CommandProgress } from '../cli/progress.ts';
import { sentence } from '../cli/text.ts';
import { type ContentReviewClient, ServiceError, type ServiceFailure } from '../index.ts';

/** Options of the commands. Each command has some of them. */
export interface ServiceFlags {
  readonly wait?: true;
  /** Maximum wait in ms. */
  readonly timeout?: number;
  readonly type?: string;
}

/** Context of a command that calls the service. */
export interface CommandContext {
  readonly io: Io;
  readonly flags: ServiceFlags;
  /** Creates a client, which the command closes. */
  readonly connect: (progress: CommandProgress) => Promise<ContentReviewClient>;
}

/** State of a command while it runs. */
export interface Session extends Omit<CommandContext, 'connect'> {
  readonly client: ContentReviewClient;
  readonly progress: CommandProgress;
  /** Aborted by a signal, with the reason Interrupted. */
  readonly signal: AbortSignal;
}

/**
 * Runs a command with a client of the service, and reports its exit code.
 * @throws CommandFailed, an error of `connect`, or an unexpected error
 */
export async function runSession(
  { io, flags, connect }: CommandContext,
  work: (session: Session) => Promise<ExitCode>,
): Promise<void> {
  const progress = new CommandProgress(io);
  const client = await connect(progress);
  try {
    await interruptible(async (signal) =>
      io.finish(await work({ io, flags, client, progress, signal })),
    );
  } catch (error) {
    throw failureOf(error);
  } finally {
    progress.clear();
    await client.close();
  }
}

const CODES: Readonly<Record<ServiceFailure, ExitCode>> = {
  rejected: EXIT.usage,
  not_found: EXIT.usage,
  too_large: EXIT.usage,
  unauthorized: EXIT.refused,
  blocked: EXIT.refused,
  unavailable: EXIT.unreachable,
  expired: EXIT.failure,
  protocol: EXIT.failure,
};

/** Returns an expected failure as a message with its exit code. @throws any other error */
export function failureOf(error: unknown): CommandFailed {
  if (error instanceof CommandFailed) return error;
  if (error instanceof ServiceError)
    return new CommandFailed(sentence(error.message), CODES[error.failure]);
  if (!(error instanceof Error && 'syscall' in error)) throw error;
  return new CommandFailed(systemReason(error), EXIT.failure);
}
