/** Where an option is: keys of mappings and indexes of lists, from the top of the document. */
export type Path = readonly (string | number)[];

/** `pipelines[0].batch.maxAge`; the top itself is `(top level)`. Keys that are no plain names are quoted. */
export function formatPath(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text === '' ? '(top level)' : text;
}

/** Order of a person reading: by name, list entries by number, an option before what is inside it. */
export function comparePaths(one: Path, two: Path): number {
  for (let i = 0; i < Math.min(one.length, two.length); i++) {
    const [a, b] = [one[i], two[i]];
    if (a === b) continue;
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    return String(a) < String(b) ? -1 : 1;
  }
  return one.length - two.length;
}

/** The value at a path of a parsed document; undefined when there is none. */
export function valueAt(document: unknown, path: Path): unknown {
  let value = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}
