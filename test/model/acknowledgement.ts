/** Acknowledgement of an operator's command in the journal, and what contradicts it. */
import * as s from './state.ts';

/** Answer without a revision. */
export const ANY = 15;

export const isHeld = (revision: number): boolean => revision % 2 === 1;

/**
 * The journal has an acknowledgement. One of an earlier command matters only to a claim that cannot read the newest.
 * @param keepsEarlier false: it is left out, which makes the state space smaller
 */
export function acknowledge(state: s.State, answer: number, keepsEarlier: boolean): void {
  if (answer === ANY) state.set(s.ACKNOWLEDGED, state.get(s.COMMAND));
  else if (keepsEarlier || answer === state.get(s.COMMAND)) state.set(s.ACKNOWLEDGED, answer);
}

/** @returns the violation of a job that begins after the acknowledgement of the newest command */
export function beginsAfterPromise(state: s.State): string | undefined {
  const revision = state.get(s.COMMAND);
  return isHeld(revision) && state.get(s.ACKNOWLEDGED) === revision
    ? 'acknowledged, and a job begins'
    : undefined;
}
