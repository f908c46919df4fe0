/** Runs a named configuration and compares the result with the expected one. */
import type { Configuration } from './configurations.ts';
import { Model } from './model.ts';
import { RULES, scenario } from './rules.ts';
import { type Outcome, type SearchOptions, search } from './search.ts';

export function runConfiguration(
  { records, slots, rules }: Configuration,
  { symmetry = true, ...options }: SearchOptions & { readonly symmetry?: boolean } = {},
): { model: Model; outcome: Outcome } {
  const model = new Model({ ...RULES, ...rules }, scenario(records, slots), symmetry);
  return { model, outcome: search(model, options) };
}

/** @returns the difference between the outcome and the expected one, or undefined */
export function unexpected({ expected }: Configuration, outcome: Outcome): string | undefined {
  const { found, states } = outcome;
  const got =
    outcome.found === 'violation'
      ? { found, what: outcome.what, steps: outcome.trace.steps.length }
      : outcome.found === 'stuck'
        ? { found, steps: outcome.trace.steps.length }
        : { found, states, transitions: outcome.transitions, done: outcome.done };
  const [wanted, seen] = [JSON.stringify(expected), JSON.stringify(got)];
  return wanted === seen ? undefined : `${seen}, expected ${wanted}`;
}
