/** Acknowledgement of an operator's command in the journal, and what contradicts it. */
import * as s from './state.ts';

/** Answer without a revision. */
export const ANY = 15;

export const isHeld = (revision: number): boolean => revision % 2 === 1;

/** The journal has an acknowledgement: of no effect when a newer command came first. */
export function acknowledge(state: s.State, answer: number): void {
  if (answer === ANY || answer === state.get(s.COMMAND))
    state.set(s.ACKNOWLEDGED, state.get(s.COMMAND));
}

/** @returns the violation of a job that begins after the acknowledgement of the newest command */
export function beginsAfterPromise(state: s.State): string | undefined {
  const revision = state.get(s.COMMAND);
  return isHeld(revision) && state.get(s.ACKNOWLEDGED) === revision
    ? 'acknowledged, and a job begins'
    : undefined;
}
