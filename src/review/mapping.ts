/** Where the parts of a content event are: the configuration of a review, and paths into a JSON document. */

export interface MappingOptions {
  /** Path of the text or URL to review. */
  readonly content: string;
  /** The content type, which decides the batch: a path into the event, or the same for all. */
  readonly type: { readonly field: string } | { readonly constant: string };
  /** Types that may be submitted; an event of another type is a dead letter. Absent: any. */
  readonly allowedTypes?: readonly string[] | undefined;
  /** Path of the metadata object. */
  readonly metadata: string;
  /** Path of the decision that the producer expects, a string. */
  readonly expected: string;
  /** Names of the headers that travel from the content event to its decision. */
  readonly headers: readonly string[];
  /** What becomes of a record without a value. */
  readonly nullValues: 'dead-letter' | 'skip';
  /** Largest content, in bytes of UTF-8. */
  readonly maxContentBytes: number;
}

export const DEFAULT_MAPPING: MappingOptions = {
  content: 'content',
  type: { field: 'type' },
  metadata: 'metadata',
  expected: 'expected_result',
  headers: [],
  nullValues: 'dead-letter',
  maxContentBytes: 1024 * 1024,
};

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
