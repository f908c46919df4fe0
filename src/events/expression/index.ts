/** Expressions of the configuration, JMESPath (docs/mapping.md), over what a record holds. */
import { isKeptNumber } from '../../base/exact-json.ts';
import { hasNumber, nameOf } from '../json-event.ts';
import { evaluator } from './evaluator.ts';
import type { EventInput } from './input.ts';
import { parsePath, valueAt } from './path.ts';
import { parseExpression } from './syntax.ts';

export { EventInput } from './input.ts';
export { EvaluationProblem } from './problem.ts';

export interface Expression {
  readonly text: string;
  /** Whether it is nothing but names joined by dots: then what it finds is in the document as it is. */
  readonly isPath: boolean;
  /**
   * What it finds: undefined when a path leads nowhere. Numbers that a double cannot hold are kept as text (core/exact-json), but
   * inside an object that a path found they are not: ask `exactly` for that. @throws EvaluationProblem
   */
  find(input: EventInput): unknown;
  /** The same, with all digits of all numbers; undefined when a path leads nowhere. @throws EvaluationProblem */
  exactly(input: EventInput): unknown;
}

/** @throws RangeError that says what is wrong */
export function compileExpression(text: string): Expression {
  const path = parsePath(text);
  if (path !== undefined) {
    const exactly = (input: EventInput, found: unknown) => {
      if (!hasNumber(found)) return found;
      const whole = input.whole();
      return whole === input.event.document ? found : valueAt(whole, path);
    };
    return {
      text,
      isPath: true,
      find(input) {
        const found = valueAt(input.event.document, path);
        return typeof found === 'number' ? exactly(input, found) : found;
      },
      exactly: (input) => exactly(input, valueAt(input.event.document, path)),
    };
  }
  const { node, problem } = parseExpression(text);
  if (node === undefined) throw new RangeError(`"${text}" is no expression: ${problem}`);
  const find = (input: EventInput) => evaluator.evaluate(node, input);
  return { text, isPath: false, find, exactly: find };
}

/** What is wrong with an expression; undefined when nothing is. */
export function expressionProblem(text: string): string | undefined {
  return parsePath(text) === undefined ? parseExpression(text).problem : undefined;
}

/** The JSON type of what was found, for messages. */
export function typeOfFound(value: unknown): string {
  return isKeptNumber(value) ? 'a number' : nameOf(value);
}
