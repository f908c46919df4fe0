/** Keys of mappings and indexes of lists, from the top of the document to an option. */
export type Path = readonly (string | number)[];

/** Line and column, from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** `pipelines[0].batch.maxAge`; the top itself is `(top level)`. Keys that are no plain names are quoted. */
export function formatPath(path: Path): string {
  const text = path
    .map((step) => {
      if (typeof step === 'number') return `[${step}]`;
      return /^[A-Za-z_][\w-]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
    })
    .join('')
    .replace(/^\./, '');
  return text === '' ? '(top level)' : text;
}

/** Orders paths by name, list entries by number, an option before those inside it. */
export function comparePaths(one: Path, two: Path): number {
  const differing = one.findIndex((step, index) => step !== two[index]);
  const [a, b] = [one[differing], two[differing]];
  if (a === undefined || b === undefined) return one.length - two.length;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : 1;
}
