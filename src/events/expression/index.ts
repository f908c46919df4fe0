/** Expressions of the configuration, JMESPath (docs/mapping.md), over the content of a record. */
import { evaluator, type Node } from './evaluator.ts';
import type { EventInput } from './input.ts';
import { type MemberPath, parsePath } from './path.ts';
import { parseExpression } from './syntax.ts';

export { EvaluationProblem, EventInput, parsedBytes } from './input.ts';

/** An expression. Names joined by dots alone are a path: the value is part of the event. */
export type Expression =
  | { readonly path: MemberPath; readonly evaluate?: never }
  | {
      readonly path?: never;
      /**
       * Evaluates it for the current event. Numbers keep their text (base/json/kept-number), and
       * what is missing is null. @throws EvaluationProblem
       */
      readonly evaluate: (input: EventInput) => unknown;
    };

/** @throws RangeError that names the mistake */
export function compileExpression(text: string): Expression {
  const path = parsePath(text);
  if (path !== undefined) return { path };
  const parsed = parseExpression(text);
  if (!parsed.ok) throw new RangeError(`"${text}" is not a valid expression: ${parsed.error}`);
  const node: Node = parsed.value;
  return { evaluate: (input) => evaluator.evaluate(node, input) };
}

/** @returns the mistake in an expression; undefined when it is valid */
export function expressionProblem(text: string): string | undefined {
  if (parsePath(text) !== undefined) return undefined;
  const parsed = parseExpression(text);
  return parsed.ok ? undefined : parsed.error;
}
