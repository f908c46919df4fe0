/** Acknowledgement of an operator's command in the journal, and its violation. */
import * as s from './state.ts';

/** Acknowledgement without a revision, which applies to any command. */
export const ANY = 15;

export const isHeld = (revision: number): boolean => revision % 2 === 1;

/**
 * Writes an acknowledgement to the journal. An acknowledgement of an earlier command matters only to a claim
 * that cannot read the newest command. @param keepsEarlier false omits acknowledgements of earlier commands,
 * which reduces the state space
 */
export function acknowledge(state: s.State, answer: number, keepsEarlier: boolean): void {
  if (answer === ANY) state.set(s.ACKNOWLEDGED, state.get(s.COMMAND));
  else if (keepsEarlier || answer === state.get(s.COMMAND)) state.set(s.ACKNOWLEDGED, answer);
}

/** @returns a violation if a job begins after the acknowledgement of the newest command */
export function beginsAfterPromise(state: s.State): string | undefined {
  const revision = state.get(s.COMMAND);
  return isHeld(revision) && state.get(s.ACKNOWLEDGED) === revision
    ? 'a job begins after the acknowledgement'
    : undefined;
}
