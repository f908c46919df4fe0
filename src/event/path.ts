/** Paths into a JSON document, as configuration writes them. */

export type Path = readonly string[];

/** Splits `post.body` into its steps; a dot that belongs to a name is written `\.`. @throws RangeError on an empty step. */
export function parsePath(path: string): Path {
  const steps = path.split(/(?<!\\)\./).map((step) => step.replaceAll('\\.', '.'));
  if (steps.some((step) => step === '')) throw new RangeError(`"${path}" is not a path: it has an empty step`);
  return steps;
}

/** The value at a path; undefined when a step is missing or leads through something that is not an object. */
export function valueAt(document: object, path: Path): unknown {
  let value: unknown = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}
