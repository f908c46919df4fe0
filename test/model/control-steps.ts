/** Commands of an operator, and their acknowledgement by the owner of the shard (src/pipeline/context/shard-control.ts). */
import { ANY, isHeld } from './acknowledgement.ts';
import { instanceName, type Model } from './model.ts';
import * as s from './state.ts';

/** Second resume, which changes nothing in shards that the first resume reached. */
const RESUMED_AGAIN = 4;

/**
 * Steps of an operator: a command, the resume, and with `acknowledgesRevision: false` another command. Only
 * this shard's command may be unreadable, so the operator always has the newest revision from other shards.
 */
export function commandSteps(model: Model): void {
  const { now, rules } = model;
  if (rules.command === 'none') return;
  const revision = now.get(s.COMMAND);
  const isSpoilt = now.get(s.SPOILT) === s.IS_SPOILT;
  if (rules.spoilsCommand && revision !== 0 && now.get(s.SPOILT) === s.NOT_SPOILT) {
    model.next().set(s.SPOILT, s.IS_SPOILT);
    model.emit(false, () => `journal: a broken record replaces revision ${revision}`);
  }
  const isLast = revision === (rules.acknowledgesRevision ? 2 : 3);
  if (revision === RESUMED_AGAIN || (isLast && !(isSpoilt && rules.replacesSpoilt))) return;
  const holds = isHeld(revision);
  const given = isLast ? RESUMED_AGAIN : revision + 1;
  const next = model.next();
  next.set(s.COMMAND, given);
  if (isSpoilt) next.set(s.SPOILT, s.REPLACED);
  const what = holds || isLast ? 'resume' : rules.command;
  // The wait for a command ends by itself only after the acknowledgement, or if no owner can read the command.
  const isFair = isSpoilt || (holds && now.get(s.ACKNOWLEDGED) === revision);
  model.emit(isFair, () => `operator: ${what}, revision ${given}`);
}

/** @returns the revision that a claim knows after reading the journal */
export function commandInJournal({ now, rules }: Model): number {
  if (now.get(s.SPOILT) !== s.IS_SPOILT) return now.get(s.COMMAND);
  return rules.continuesFromAcknowledgement ? now.get(s.ACKNOWLEDGED) : 0;
}

/** Steps by which an owner reads the commands in its journal in order, and acknowledges the newest. */
export function controlSteps(model: Model, i: number): void {
  const { now, rules } = model;
  if (rules.command === 'none' || now.of(i, s.MODE) !== s.OWNER) return;
  const known = now.of(i, s.KNOWN);
  const spoilt = now.get(s.SPOILT);
  if (known < now.get(s.COMMAND) && spoilt !== s.IS_SPOILT) {
    const read = spoilt === s.REPLACED ? now.get(s.COMMAND) : known + 1;
    model.next().setOf(i, s.KNOWN, read);
    model.emit(true, () => `${instanceName(i)}: reads the command of revision ${read}`);
  }
  const isBusy = now.of(i, s.TRANSACTION) !== s.NO_TRANSACTION;
  if (isBusy || !isHeld(known) || now.get(s.ACKNOWLEDGED) === known) return;
  if (rules.command === 'drain' && !isAtRest(model, i)) return;
  const next = model.next();
  next.setOf(i, s.TRANSACTION, s.ACKNOWLEDGE);
  next.setOf(i, s.ANSWER, rules.acknowledgesRevision ? known : ANY);
  model.emit(model.isAssigned(i), () => `${instanceName(i)}: txn: acknowledges revision ${known}`);
}

/** True if the instance may consume records. */
export const takesIn = (model: Model, i: number): boolean => !isHeld(model.now.of(i, s.KNOWN));

/** True if the instance may begin jobs. */
export const beginsJobs = (model: Model, i: number): boolean =>
  model.rules.command !== 'pause' || takesIn(model, i);

/** @returns the violation of the newest command's acknowledgement, if any */
export function brokenPromise(model: Model, state: s.State): string | undefined {
  const revision = state.get(s.COMMAND);
  if (!isHeld(revision) || state.get(s.ACKNOWLEDGED) !== revision) return undefined;
  if (model.rules.command === 'pause') return undefined;
  for (let c = 0; c < state.slots; c++)
    if (state.batch(c, s.JOURNAL_LEFT) !== 0) return 'drained, but a job is live';
  for (const i of [0, 1])
    if (state.of(i, s.MODE) === s.OWNER && inHand(state, i))
      return 'drained, but records are in flight';
  return undefined;
}

function isAtRest({ now, rules }: Model, i: number): boolean {
  for (let c = 0; c < now.slots; c++) if (now.batch(c, s.left(i)) !== 0) return false;
  return !rules.acknowledgesAtRest || !inHand(now, i);
}

const inHand = (state: s.State, i: number): boolean =>
  [s.BUFFERED, s.UNDECODED, s.WANTED, s.FOUND].some((field) => state.of(i, field) !== 0);
