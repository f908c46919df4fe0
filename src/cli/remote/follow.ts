/** Waiting for a batch, an import or a decision, through outages of the service, until it ends or somebody has had enough. */
import {
  ContentReviewError,
  UnavailableError,
  type WaitOptions,
  WaitTimeoutError,
} from '../../client/index.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../printable.ts';
import { ago } from '../table.ts';
import { CommandFailed, SentUnasked, untilThen } from './failures.ts';
import { pause } from './pause.ts';
import { Interrupted, type Session } from './session.ts';

/** Soon enough for a small batch, and then ever less often. */
const FIRST_DELAY_MS = 250;
/** A service that was there and is away this long is given up. */
const PATIENCE_MS = 10 * 60_000;
/** After the client has given up trying, unless the service says when. */
const AGAIN_MS = 1_000;
const REDRAW_MS = 1_000;
const MAX_DETAIL = 1_000;

export interface Followed<View> {
  /** `batch 1f75…`. */
  readonly name: string;
  readonly ask: (options: WaitOptions<View>) => Promise<View>;
  /** How it stands, in a few words. */
  readonly state: (view: View) => string;
  /** The command that goes on waiting. */
  readonly command: string;
  /** Gives up after this long, in ms. */
  readonly timeoutMs?: number | undefined;
  /** Whether this command has just sent its file: the service is known to be there, and to have it. */
  readonly sent: boolean;
}

/**
 * Asks until it has ended.
 * @throws CommandFailed `unfinished` after timeoutMs, `interrupted` by a signal, `unreachable` when the service went away: each says how
 * to go on. SentUnasked for what else the client throws about a file that was sent; otherwise that itself.
 */
export async function follow<View>(session: Session, followed: Followed<View>): Promise<View> {
  const { progress, signal } = session;
  const { name, command, timeoutMs, sent } = followed;
  const startedMs = performance.now();
  let state = 'no answer yet';
  let answeredMs = sent ? startedMs : undefined;
  let isAway = false;
  const show = () => progress.show(() => `${name}: ${state}, ${ago(startedMs, performance.now())}`);
  const onAnswer = (view: View) => {
    answeredMs = performance.now();
    isAway = false;
    state = followed.state(view);
    show();
  };
  const redraw = setInterval(show, REDRAW_MS);
  try {
    for (;;) {
      const restMs =
        timeoutMs === undefined
          ? undefined
          : Math.max(1, timeoutMs - (performance.now() - startedMs));
      try {
        const options = { signal, onAnswer, firstDelayMs: FIRST_DELAY_MS };
        return await followed.ask(
          restMs === undefined ? options : { ...options, timeoutMs: restMs },
        );
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        const waitMs = error.retryAfterMs ?? AGAIN_MS;
        // An address at which nobody ever answered is wrong rather than away.
        const awayMs =
          answeredMs === undefined ? Number.POSITIVE_INFINITY : performance.now() - answeredMs;
        if (awayMs + waitMs > PATIENCE_MS) throw error;
        if (!isAway)
          progress.note(`${name}: the service cannot be reached just now, waiting for it`);
        isAway = true;
        await pause(Math.min(waitMs, restMs ?? waitMs), signal);
      }
    }
  } catch (error) {
    const [what, code] = stopped(error, name, state) ?? [];
    if (what === undefined || code === undefined) {
      throw sent && error instanceof ContentReviewError
        ? new SentUnasked(name, command, error)
        : error;
    }
    const detail =
      error instanceof UnavailableError ? `\n  ${printable(error.message, MAX_DETAIL)}\n` : ' ';
    throw new CommandFailed(`${what}${detail}To go on waiting:\n  ${command}`, code);
  } finally {
    clearInterval(redraw);
    progress.clear();
  }
}

function stopped(error: unknown, name: string, state: string) {
  if (error instanceof Interrupted)
    return [`Interrupted. The service goes on with ${name}.`, EXIT.interrupted] as const;
  if (error instanceof WaitTimeoutError)
    return [`${name} is not finished in this time: ${state}.`, EXIT.unfinished] as const;
  if (error instanceof UnavailableError) {
    const what = error.status === undefined ? 'cannot be reached' : 'is not able to answer now';
    return [
      `The service ${what} to ask for ${name}${untilThen(error.retryAfterMs)}.`,
      EXIT.unreachable,
    ] as const;
  }
  return undefined;
}
