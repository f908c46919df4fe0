/**
 * Invariants of every reachable state, and the condition for a settled state. This file checks I1; the steps
 * check I2 and I4.
 */
import { isHeld } from './acknowledgement.ts';
import { brokenPromise } from './control-steps.ts';
import type { Model } from './model.ts';
import * as s from './state.ts';

/** @returns the violation, or undefined */
export function violationOf(model: Model, state: s.State): string | undefined {
  const settled = state.get(s.SETTLED);
  const progress = state.progress(s.JOURNAL_PROGRESS);
  const asWished = state.get(s.RESET_STATE) === s.RESET_PENDING;
  for (let index = 0; index < model.scenario.records.length; index++) {
    let jobs = 0;
    for (let c = 0; c < state.slots; c++) jobs += (state.batch(c, s.JOURNAL_LEFT) >> index) & 1;
    const isSettled = (settled >> index) & 1;
    if (jobs > 1) return 'I1: two live jobs contain one offset';
    if (jobs + isSettled > 1) return 'I1: a live job contains a settled offset';
    if (!asWished && jobs + isSettled === 0 && model.progress.isClaimed(progress, index))
      return 'I1: offset lost (below progress, in no live job, not settled)';
  }
  return brokenPromise(model, state);
}

export function isDone(model: Model, state: s.State): boolean {
  if (state.get(s.SETTLED) !== model.all || isHeld(state.get(s.COMMAND))) return false;
  for (let c = 0; c < state.slots; c++) if (state.batch(c, s.JOURNAL_LEFT) !== 0) return false;
  return true;
}

/** Describes a state for the end of a trace. */
export function describe(model: Model, state: s.State): string {
  const name = (i: number) => 'AB'.charAt(i);
  const lines = [
    `settled=${model.show(state.get(s.SETTLED))} claimed=${model.show(state.progress(s.JOURNAL_PROGRESS))} ` +
      `assigned=${name(state.get(s.ASSIGNED))} fence=${'-AB'.charAt(state.get(s.FENCED_BY))} ` +
      `command=${state.get(s.COMMAND)} acknowledged=${state.get(s.ACKNOWLEDGED)}`,
  ];
  for (let c = 0; c < state.slots; c++) {
    if (state.isFree(c)) continue;
    const memories = [0, 1].map(
      (i) => `${name(i)}=${model.show(state.batch(c, s.left(i)))}/${state.batch(c, s.phase(i))}`,
    );
    lines.push(
      `batch ${model.show(state.batch(c, s.ITEMS))} ${s.REMOTE_STATES[state.batch(c, s.REMOTE)]} put=${state.batch(c, s.UPLOADING)} ` +
        `journal=${model.show(state.batch(c, s.JOURNAL_LEFT))} ${memories.join(' ')}`,
    );
  }
  for (const i of [0, 1]) {
    const sets = (['buffered', 'undecoded', 'wanted', 'found'] as const).map(
      (word, at) => `${word}=${model.show(state.of(i, s.BUFFERED + at))}`,
    );
    lines.push(
      `${name(i)}: ${s.MODES[state.of(i, s.MODE)]} believes=${state.of(i, s.BELIEVES)} ${sets.join(' ')} ` +
        `position=${state.of(i, s.POSITION)},${state.of(i, s.POSITION + 1)} transaction=${state.of(i, s.TRANSACTION)}`,
    );
  }
  return lines.join('\n       ');
}
