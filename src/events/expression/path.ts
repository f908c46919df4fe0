/** Plain paths, the common expressions: names joined by dots, looked up without an interpreter. */
import { isObject } from '../../base/json/is-object.ts';

type MemberPath = readonly string[];

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
      steps.push(step.startsWith('"') ? (JSON.parse(step) as string) : step);
    } catch {
      return undefined;
    }
    at += step.length;
    if (at === expression.length) return steps;
    if (expression[at] !== '.') return undefined;
  }
}

/** The value at a path; undefined when a step is missing, or leads through no object. */
export function valueAt(document: object, path: MemberPath): unknown {
  let value: unknown = document;
  for (const step of path) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}
