/**
 * Shared parts of the model's steps: the state being expanded, its successor, and changes of memories and
 * transactions. The steps are in world-steps.ts, claim-steps.ts, transaction-steps.ts and owner-steps.ts; expand.ts
 * calls all of them.
 */
import { acknowledge, beginsAfterPromise } from './acknowledgement.ts';
import { Progress } from './progress.ts';
import { MAX_RECORDS, type Rules, type Scenario, type SourceRecord } from './rules.ts';
import * as s from './state.ts';

/**
 * Callback for a successor. @param next owned by the model, which reuses it; copy it to keep it @param fair
 * true if the step still happens after faults have stopped
 * @param violation of an invariant by the step itself
 */
export type Visit = (
  next: s.State,
  fair: boolean,
  violation: string | undefined,
  label: () => string,
) => void;

export class Model {
  readonly rules: Rules;
  readonly scenario: Scenario;
  readonly progress: Progress;
  /** Bit mask of all records. */
  readonly all: number;
  /** State being expanded. */
  readonly now: s.State;
  /** Set by a step that violates an invariant, before it is emitted. */
  violation: string | undefined;
  readonly #next: s.State;
  readonly #swapped: s.State;
  readonly #symmetry: boolean;
  #visit: Visit = () => {};

  /** @param symmetry treats the instances as interchangeable. This halves the states, but instances may swap in traces */
  constructor(rules: Rules, scenario: Scenario, symmetry = true) {
    this.rules = rules;
    this.scenario = scenario;
    this.progress = new Progress(scenario);
    this.all = (1 << scenario.records.length) - 1;
    this.now = new s.State(scenario.slots);
    this.#next = new s.State(scenario.slots);
    this.#swapped = new s.State(scenario.slots);
    this.#symmetry = symmetry;
  }

  /** State with two idle instances, in which the group assigns the shard to the first. */
  initial(): s.State {
    const state = new s.State(this.scenario.slots);
    for (const i of [0, 1]) state.setOf(i, s.MODE, s.IDLE);
    return state;
  }

  /** Passes each successor of `state` to `visit`. */
  begin(state: s.State, visit: Visit): void {
    this.now.copy(state);
    this.#visit = visit;
  }

  /** Returns a copy of the current state, for a step to change. The next call overwrites it. */
  next(): s.State {
    this.#next.copy(this.now);
    return this.#next;
  }

  /** Passes the changed state to `visit`. */
  emit(fair: boolean, label: () => string): void {
    const { violation } = this;
    this.violation = undefined;
    let next = this.#next;
    this.#normalise(next);
    // Either a state or its mirror image is kept. Comparing the instances usually determines which, without
    // computing the image.
    const order = this.#symmetry ? next.compareInstances() : -1;
    if (order >= 0) {
      this.#swapped.copySwapped(next);
      this.#swapped.sortSlots();
      if (order > 0 || this.#swapped.compare(next) < 0) next = this.#swapped;
    }
    this.#visit(next, fair, violation, label);
  }

  record(index: number): SourceRecord {
    return this.scenario.records[index] as SourceRecord;
  }

  /** True if the instance is not fenced, so that it may commit. */
  isNewest(i: number): boolean {
    return !this.rules.fences || this.now.get(s.FENCED_BY) === i + 1;
  }

  isAssigned(i: number): boolean {
    return this.now.get(s.ASSIGNED) === i;
  }

  clearTransaction(state: s.State, i: number): void {
    state.setOf(i, s.TRANSACTION, s.NO_TRANSACTION);
    state.setOf(i, s.OUTPUTS, 0);
    state.setOf(i, s.ANSWER, 0);
    state.setOf(i, s.DETACHED, 0);
    state.setProgress(s.writtenProgress(i), 0);
    for (let c = 0; c < state.slots; c++) {
      state.setBatch(c, s.role(i), 0);
      state.setBatch(c, s.writtenLeft(i), 0);
    }
  }

  /** Clears the instance's memory. A commit in the network stays there. */
  forget(state: s.State, i: number, mode: number): void {
    const transaction = state.of(i, s.TRANSACTION);
    const outputs = state.of(i, s.OUTPUTS);
    const answer = state.of(i, s.ANSWER);
    const detached = transaction !== s.NO_TRANSACTION && state.of(i, s.DETACHED) === 1;
    const believes = mode === s.DOWN || mode === s.LOST ? 0 : state.of(i, s.BELIEVES);
    state.clearInstance(i);
    state.setOf(i, s.MODE, mode);
    state.setOf(i, s.BELIEVES, believes);
    for (let c = 0; c < state.slots; c++) {
      state.setBatch(c, s.left(i), 0);
      state.setBatch(c, s.phase(i), 0);
    }
    if (detached) {
      state.setOf(i, s.TRANSACTION, transaction);
      state.setOf(i, s.OUTPUTS, outputs);
      state.setOf(i, s.ANSWER, answer);
      state.setOf(i, s.DETACHED, 1);
    } else this.clearTransaction(state, i);
  }

  /** Drops the instance's state. The instance must receive the assignment from the group before it claims again. */
  lose(i: number, { commitInNetwork = false } = {}): void {
    const next = this.next();
    if (commitInNetwork) next.setOf(i, s.DETACHED, 1);
    else this.clearTransaction(next, i);
    this.forget(next, i, s.LOST);
  }

  /** Makes the client lose its position. Without a seek, the client continues from the group's committed offset. */
  rejoin(state: s.State, i: number): void {
    if (this.rules.seeksAtJoin) return;
    const committed = state.progress(s.JOURNAL_PROGRESS);
    this.scenario.partitions.forEach((_, partition) => {
      state.setOf(i, s.POSITION + partition, this.progress.watermark(committed, partition));
    });
  }

  /** Commits the instance's transaction: outputs, job records, progress and offsets together. */
  commit(state: s.State, i: number): void {
    const outputs = state.of(i, s.OUTPUTS);
    const settled = state.get(s.SETTLED);
    if ((outputs & settled) !== 0) this.violation = 'I2: second terminal record for one offset';
    state.set(s.SETTLED, settled | outputs);
    for (let c = 0; c < state.slots; c++) {
      if (state.batch(c, s.role(i)) === 0) continue;
      state.setBatch(c, s.JOURNAL_LEFT, state.batch(c, s.writtenLeft(i)));
      state.setBatch(c, s.JOURNALED, 1);
    }
    const transaction = state.of(i, s.TRANSACTION);
    if (transaction === s.ACKNOWLEDGE)
      acknowledge(state, state.of(i, s.ANSWER), this.rules.spoilsCommand);
    if (transaction === s.JOB || transaction === s.MOVE)
      this.violation ??= beginsAfterPromise(state);
    if (transaction !== s.JOB && transaction !== s.DEAD_LETTER) return;
    if (this.rules.believesStaleOffsets)
      state.setProgress(s.EARLIER_PROGRESS, state.progress(s.JOURNAL_PROGRESS));
    state.setProgress(s.JOURNAL_PROGRESS, state.progress(s.writtenProgress(i)));
  }

  /** Returns records in the form `{1,3}`. */
  show(mask: number): string {
    const members = this.scenario.records.flatMap((_, index) =>
      (mask >> index) & 1 ? [index + 1] : [],
    );
    return `{${members.join()}}`;
  }

  /** Removes differences without effect, so that equivalent states are equal. */
  #normalise(state: s.State): void {
    if (this.rules.fences)
      for (const i of [0, 1]) if (state.get(s.FENCED_BY) !== i + 1) this.#fenced(state, i);
    for (let c = 0; c < state.slots; c++) {
      if (!state.isFree(c) && !this.#isRemembered(state, c)) state.clearSlot(c);
    }
    state.sortSlots();
  }

  /**
   * Clears the state of a fenced instance, which cannot commit. It can still upload, but only batches whose jobs it saw
   * committed.
   */
  #fenced(state: s.State, i: number): void {
    if (state.of(i, s.DETACHED) === 1) this.clearTransaction(state, i);
    const mode = state.of(i, s.MODE);
    if (mode !== s.OWNER && mode !== s.PAUSED) return;
    const believes = state.of(i, s.BELIEVES);
    state.clearInstance(i);
    state.setOf(i, s.MODE, s.ZOMBIE);
    state.setOf(i, s.BELIEVES, believes);
    this.clearTransaction(state, i);
    for (let c = 0; c < state.slots; c++) {
      state.setBatch(c, s.left(i), 0);
      if (state.batch(c, s.phase(i)) !== s.IN_JOURNAL) state.setBatch(c, s.phase(i), 0);
    }
  }

  #isRemembered(state: s.State, c: number): boolean {
    if (state.batch(c, s.JOURNAL_LEFT) !== 0) return true;
    for (const i of [0, 1])
      if (
        state.batch(c, s.left(i)) !== 0 ||
        state.batch(c, s.phase(i)) !== 0 ||
        state.batch(c, s.role(i)) !== 0
      )
        return true;
    return false;
  }
}

export const instanceName = (i: number): string => 'AB'.charAt(i);

/** Returns every non-empty subset of a set of records, the largest first. */
export const subsets = (mask: number): readonly number[] => SUBSETS[mask] as readonly number[];

const SUBSETS = Array.from({ length: 1 << MAX_RECORDS }, (_, mask) => {
  const found: number[] = [];
  for (let subset = mask; subset !== 0; subset = (subset - 1) & mask) found.push(subset);
  return found;
});

export function count(mask: number): number {
  let members = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) members++;
  return members;
}
