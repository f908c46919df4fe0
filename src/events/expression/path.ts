/** Plain paths, the common expressions: names joined by dots. They need no interpreter, and are looked up a million times a second. */

export type Path = readonly string[];

const STEP = /[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)+"/y;

/** The steps of `post."a.b".body`, none for `@`; undefined for any other expression. Agrees with JMESPath on every one that it takes. */
export function parsePath(text: string): Path | undefined {
  const expression = text.trim();
  if (expression === '@') return [];
  const steps: string[] = [];
  for (let at = 0; ; at++) {
    STEP.lastIndex = at;
    const [step] = STEP.exec(expression) ?? [];
    if (step === undefined) return undefined;
    const name = step.startsWith('"') ? unquoted(step) : step;
    if (name === undefined) return undefined;
    steps.push(name);
    at += step.length;
    if (at === expression.length) return steps;
    if (expression[at] !== '.') return undefined;
  }
}

/** The value at a path; undefined when a step is missing or leads through something that is not an object. */
export function valueAt(document: object, path: Path): unknown {
  let value: unknown = document;
  for (const step of path) {
    if (
      typeof value !== 'object' ||
      value === null ||
      Array.isArray(value) ||
      !Object.hasOwn(value, step)
    )
      return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

function unquoted(step: string): string | undefined {
  try {
    return JSON.parse(step) as string;
  } catch {
    return undefined;
  }
}
