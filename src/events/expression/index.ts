/** JMESPath expressions of the configuration (docs/mapping.md), evaluated over the content of a record. */
import { evaluator } from './evaluator.ts';
import { type EventInput, type MemberPath, parsePath } from './input.ts';
import { parseExpression } from './syntax.ts';

export { EvaluationProblem, EventInput, parsedBytes } from './input.ts';

/**
 * Evaluates an expression for the current event. Numbers keep their digits
 * (base/json/json-text.ts), and a missing value becomes null. Throws EvaluationProblem.
 */
export type Evaluate = (input: EventInput) => unknown;

/**
 * Compiles an expression. Names joined by dots form a path, whose value is a part of the event.
 * @throws RangeError whose message describes the mistake
 */
export function compileExpression(text: string): MemberPath | Evaluate {
  const path = parsePath(text);
  if (path !== undefined) return path;
  const parsed = parseExpression(text);
  if (!parsed.ok) throw new RangeError(`"${text}" is not a valid expression: ${parsed.error}`);
  return (input) => evaluator.evaluate(parsed.value, input);
}

/** Returns a description of the mistake in an expression, or undefined if the expression is valid. */
export function expressionProblem(text: string): string | undefined {
  if (parsePath(text) !== undefined) return undefined;
  const parsed = parseExpression(text);
  return parsed.ok ? undefined : parsed.error;
}
