/** Expressions of the configuration, JMESPath (docs/mapping.md), over the content of a record. */
import { isKeptNumber } from '../../base/json/exact-json.ts';
import { hasNumber, nameOf } from '../json-event.ts';
import { evaluator } from './evaluator.ts';
import type { EventInput } from './input.ts';
import { parsePath, valueAt } from './path.ts';
import { parseExpression } from './syntax.ts';

export { EvaluationProblem, EventInput } from './input.ts';

export interface Expression {
  readonly text: string;
  /** True if it is names joined by dots alone: the value that it finds is part of the document. */
  readonly isPath: boolean;
  /**
   * Finds the value: undefined when a path leads nowhere. Numbers that a double cannot hold are
   * kept as text (base/json/exact-json), except inside an object that a path found: `exactly` keeps
   * those too. @throws EvaluationProblem
   */
  readonly find: (input: EventInput) => unknown;
  /** Finds the same, with all digits of all numbers. @throws EvaluationProblem */
  readonly exactly: (input: EventInput) => unknown;
}

/** @throws RangeError that names the mistake */
export function compileExpression(text: string): Expression {
  const path = parsePath(text);
  if (path === undefined) {
    const parsed = parseExpression(text);
    if (!parsed.ok) throw new RangeError(`"${text}" is not a valid expression: ${parsed.error}`);
    const find = (input: EventInput) => evaluator.evaluate(parsed.value, input);
    return { text, isPath: false, find, exactly: find };
  }
  const exact = (input: EventInput, found: unknown) =>
    hasNumber(found) && input.whole() !== input.event.document
      ? valueAt(input.whole(), path)
      : found;
  return {
    text,
    isPath: true,
    find(input) {
      const found = valueAt(input.event.document, path);
      return typeof found === 'number' ? exact(input, found) : found;
    },
    exactly: (input) => exact(input, valueAt(input.event.document, path)),
  };
}

/** @returns the mistake in an expression; undefined when it is valid */
export function expressionProblem(text: string): string | undefined {
  if (parsePath(text) !== undefined) return undefined;
  const parsed = parseExpression(text);
  return parsed.ok ? undefined : parsed.error;
}

/** The JSON type of a value that was found, for messages. */
export function typeOfFound(value: unknown): string {
  return isKeptNumber(value) ? 'a number' : nameOf(value);
}
