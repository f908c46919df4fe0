import { type ContentReviewClient, ContentReviewError } from '../../client/index.ts';
import { CommandFailed } from '../command-failed.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { interruptible } from '../interrupt.ts';
import type { Io } from '../io.ts';
import { Progress } from '../progress.ts';
import { connect } from './connection.ts';
import { failureOf } from './failures.ts';
import type { ServiceFlags } from './flags.ts';

/** Run of a command that calls the service. */
export interface Session {
  readonly io: Io;
  readonly client: ContentReviewClient;
  readonly flags: ServiceFlags;
  readonly progress: Progress;
  /** Aborts with Interrupted. */
  readonly signal: AbortSignal;
  /** Resource whose file has arrived, and the command that continues with it: the file must not be submitted again. */
  sent?: { readonly name: string; readonly command: string };
}

/**
 * Runs a command and reports its exit code.
 * @throws CommandFailed; ConfigError; what nobody foresaw.
 */
export async function runSession(
  io: Io,
  flags: ServiceFlags,
  work: (session: Session) => Promise<ExitCode>,
): Promise<void> {
  const progress = new Progress(io);
  const connection = await connect(flags, io.env, retryNotes(progress));
  const { client } = connection;
  let session: Session | undefined;
  try {
    await interruptible(async (signal) => {
      session = { io, client, flags, progress, signal };
      io.finish(await work(session));
    });
  } catch (error) {
    progress.clear();
    if (!(error instanceof ContentReviewError)) throw error;
    const { message, code } = failureOf(error, connection);
    if (session?.sent === undefined) throw new CommandFailed(message, code);
    const { name, command } = session.sent;
    throw new CommandFailed(
      `The file was sent, and ${name} has it: do not submit it again. ${message}\nTo continue:\n  ${command}`,
      code === EXIT.usage ? EXIT.failure : code,
    );
  } finally {
    await client.close();
  }
}

/** Notes each retry, and consecutive retries for the same reason once. */
function retryNotes(progress: Progress): (operation: string, reason: string) => void {
  let last = '';
  return (operation, reason) => {
    const empty = operation.startsWith('create_') ? ' (what it may have created stays empty)' : '';
    const text = `${operation}: ${reason}${empty}, trying again`;
    if (text === last) progress.show(() => text);
    else progress.note(text);
    last = text;
  };
}
