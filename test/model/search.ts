/**
 * Explores every reachable state, breadth first and exactly: whole states are stored, not hashes. Then checks
 * that every state can reach a settled state by fair steps only.
 */
import { expand } from './expand.ts';
import { isDone, violationOf } from './invariants.ts';
import type { Model } from './model.ts';
import { State } from './state.ts';
import { Edges, NOBODY, StateSet } from './store.ts';

export interface Trace {
  readonly steps: readonly string[];
  readonly end: State;
}

export type Outcome =
  | {
      readonly found: 'live';
      readonly states: number;
      readonly transitions: number;
      readonly done: number;
    }
  | {
      readonly found: 'violation';
      readonly what: string;
      readonly states: number;
      readonly trace: Trace;
    }
  | { readonly found: 'stuck'; readonly states: number; readonly trace: Trace };

export interface SearchOptions {
  /** Called regularly with the numbers of explored and of known states. */
  readonly onProgress?: (explored: number, known: number) => void;
}

const PROGRESS_EVERY = 1 << 20;

export function search(model: Model, { onProgress }: SearchOptions = {}): Outcome {
  const states = new StateSet(model);
  const fair = new Edges();
  let transitions = 0;
  let broken: { what: string; label: string; end: State } | undefined;
  states.add(model.initial(), NOBODY);
  const current = new State(model.scenario.slots);
  for (let id = 0; id < states.size; id++) {
    states.read(id, current);
    expand(model, current, (next, isFair, violation, label) => {
      transitions++;
      if (broken !== undefined) return;
      const known = states.size;
      const to = states.add(next, id);
      // Checks only new states, because known states were checked when they were found.
      const what = violation ?? (to === known ? violationOf(model, next) : undefined);
      if (what !== undefined) {
        const end = new State(model.scenario.slots);
        end.copy(next);
        broken = { what, label: label(), end };
        return;
      }
      if (isFair && to !== id) fair.push(to);
    });
    if (broken !== undefined) {
      const { what, label, end } = broken;
      const trace = { steps: [...stepsTo(model, states, id), label], end };
      return { found: 'violation', what, states: states.size, trace };
    }
    fair.endRow();
    if (id % PROGRESS_EVERY === PROGRESS_EVERY - 1) onProgress?.(id + 1, states.size);
  }
  states.forgetIndex();
  const { nearest, done } = settlesFrom(model, states, fair);
  if (nearest !== undefined) {
    const end = new State(model.scenario.slots);
    states.read(nearest, end);
    return {
      found: 'stuck',
      states: states.size,
      trace: { steps: stepsTo(model, states, nearest), end },
    };
  }
  return { found: 'live', states: states.size, transitions, done };
}

/** Searches backwards from the settled states over fair steps. */
function settlesFrom(
  model: Model,
  states: StateSet,
  fair: Edges,
): { nearest: number | undefined; done: number } {
  const { size } = states;
  const { starts, sources } = fair.reversed(size);
  const reaches = new Uint8Array(size);
  const queue = new Uint32Array(size);
  let queued = 0;
  const state = new State(model.scenario.slots);
  for (let id = 0; id < size; id++) {
    states.read(id, state);
    if (!isDone(model, state)) continue;
    reaches[id] = 1;
    queue[queued++] = id;
  }
  const done = queued;
  for (let at = 0; at < queued; at++) {
    const id = queue[at] as number;
    for (let edge = starts[id] as number; edge < (starts[id + 1] as number); edge++) {
      const from = sources[edge] as number;
      if (reaches[from] === 1) continue;
      reaches[from] = 1;
      queue[queued++] = from;
    }
  }
  const first = reaches.indexOf(0);
  return { nearest: first === -1 ? undefined : first, done };
}

function stepsTo(model: Model, states: StateSet, id: number): string[] {
  const path: number[] = [];
  for (let at = id; at !== NOBODY; at = states.parent(at)) path.unshift(at);
  const current = new State(model.scenario.slots);
  return path.slice(1).map((to, index) => {
    const wanted = new State(model.scenario.slots);
    states.read(to, wanted);
    states.read(path[index] as number, current);
    let step: string | undefined;
    expand(model, current, (next, _fair, _violation, label) => {
      if (step === undefined && next.compare(wanted) === 0) step = label();
    });
    return step ?? '?';
  });
}
