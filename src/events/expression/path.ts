/** Plain paths, the common expressions: names joined by dots, found by the scanner of JSON. */
import { parseJson } from '../../../packages/client/src/base/json/parse-json.ts';

export type MemberPath = readonly string[];

/** The scanner compares names by their bytes, in which every lone surrogate is U+FFFD. */
const AMBIGUOUS = /[\ufffd\p{Surrogate}]/u;
const STEP = /[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)+"/y;

/**
 * The steps of `post."a.b".body`, none for `@`; undefined for any other expression. Agrees with
 * JMESPath on every one that it accepts.
 */
export function parsePath(text: string): MemberPath | undefined {
  const expression = text.trim();
  if (expression === '@') return [];
  const steps: string[] = [];
  for (let at = 0; ; at++) {
    STEP.lastIndex = at;
    const [step] = STEP.exec(expression) ?? [];
    if (step === undefined) return undefined;
    try {
      steps.push(step.startsWith('"') ? (parseJson(step) as string) : step);
    } catch {
      return undefined;
    }
    at += step.length;
    if (at === expression.length)
      return steps.some((name) => AMBIGUOUS.test(name)) ? undefined : steps;
    if (expression[at] !== '.') return undefined;
  }
}
