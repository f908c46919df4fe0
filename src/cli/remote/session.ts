/** What every command that talks to the service has: a client, signals that end it in order, and one way to fail. */
import type { ContentReviewClient } from '../../client/index.ts';
import { EXIT } from '../exit-codes.ts';
import { untilInterrupted } from '../interrupt.ts';
import type { Finish, Io } from '../io.ts';
import { Progress } from '../progress.ts';
import { type ConnectionFlags, connect } from './connection.ts';
import { failureOf } from './failures.ts';

/** The reason of the session's signal. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export interface Session {
  readonly io: Io;
  readonly client: ContentReviewClient;
  readonly baseUrl: string;
  readonly flags: ConnectionFlags;
  readonly progress: Progress;
  /** Aborts with Interrupted at SIGINT, SIGTERM or SIGHUP. A second one ends the process at once. */
  readonly signal: AbortSignal;
}

/**
 * Runs a command to its exit code.
 * @param work resolves to the exit code. What it throws is told by failureOf; a signal that it does not handle ends with 130.
 */
export async function runSession(
  io: Io,
  finish: Finish,
  flags: ConnectionFlags,
  work: (session: Session) => Promise<number>,
): Promise<void> {
  const progress = new Progress(io);
  const connection = await connect(flags, io.env, retryNotes(progress));
  const { client, baseUrl } = connection;
  const signals = untilInterrupted();
  const stop = new AbortController();
  signals.interrupted.then(
    () => stop.abort(new Interrupted('interrupted')),
    () => {},
  );
  try {
    finish(await work({ io, client, baseUrl, flags, progress, signal: stop.signal }));
  } catch (error) {
    progress.clear();
    if (error instanceof Interrupted) {
      io.err('Interrupted.\n');
      finish(EXIT.interrupted);
      return;
    }
    const failure = failureOf(error, connection);
    if (failure === undefined) throw error;
    io.err(`${failure.message}\n`);
    finish(failure.code);
  } finally {
    signals.restore();
    await client.close();
  }
}

/** Tells that something is tried again: once for all tries in a row that fail in the same way. */
function retryNotes(progress: Progress): (operation: string, reason: string) => void {
  let last = '';
  return (operation, reason) => {
    const left = operation.startsWith('create_') ? ' (what it may have created stays empty)' : '';
    const text = `${operation}: ${reason}${left}, trying again`;
    if (text === last) progress.show(() => text);
    else progress.note(text);
    last = text;
  };
}
