import { UnavailableError, WaitTimeoutError } from '../../client/index.ts';
import { CommandFailed } from '../command-failed.ts';
import { EXIT } from '../exit-codes.ts';
import { Interrupted } from '../interrupt.ts';
import { printable } from '../printable.ts';
import { ago } from '../table.ts';
import { detailOf, unavailable } from './failures.ts';
import { type Resource, type ResourceView, stateOf } from './resources.ts';
import type { Session } from './session.ts';

/** Soon enough for a small batch. */
const FIRST_DELAY_MS = 250;
/** Longest outage that is waited out. */
const OUTAGE_MS = 10 * 60_000;
const REDRAW_MS = 1_000;

/**
 * Waits until a resource is finished.
 * @param command continues the wait.
 * @throws CommandFailed after --timeout, at a signal and after an outage, with that command; ContentReviewError.
 */
export async function follow<View extends ResourceView>(
  { client, flags, progress, signal }: Session,
  resource: Resource<View>,
  id: string,
  command: string,
): Promise<View> {
  const name = `${resource.kind} ${printable(id)}`;
  const startMs = performance.now();
  let state = 'no response yet';
  let isAway = false;
  const show = () => progress.show(() => `${name}: ${state}, ${ago(startMs, performance.now())}`);
  const redraw = setInterval(show, REDRAW_MS);
  try {
    return await resource.calls(client).waitFor(id, {
      signal,
      timeoutMs: flags.timeout,
      firstDelayMs: FIRST_DELAY_MS,
      outageMs: OUTAGE_MS,
      onAnswer: (view) => {
        isAway = false;
        state = stateOf(resource, view);
        show();
      },
      onOutage: () => {
        if (!isAway) progress.note(`${name}: the service is unavailable, waiting for it`);
        isAway = true;
      },
    });
  } catch (error) {
    const stop = (what: string, code: CommandFailed['code']) =>
      new CommandFailed(`${what}\nTo continue waiting:\n  ${command}`, code);
    if (error instanceof Interrupted)
      throw stop(`Interrupted. The service continues with ${name}.`, error.code);
    if (error instanceof WaitTimeoutError)
      throw stop(`${name} is not finished within --timeout: ${state}.`, EXIT.unfinished);
    if (error instanceof UnavailableError)
      throw stop(`${unavailable(error, 'the service')}.${detailOf(error)}`, EXIT.unreachable);
    throw error;
  } finally {
    clearInterval(redraw);
    progress.clear();
  }
}
