/**
 * Names of columns (docs/metadata.md). The header of a metadata column is its key, so that a policy
 * finds it. A key that could be mistaken for another column, or changed in transit, has none.
 */
import { RESULT_COLUMNS, RESULT_SUFFIX } from '../service/contract.ts';

/** Header of the connector's own column. */
export const REFERENCE_COLUMN = 'connector_ref';

export interface ColumnOptions {
  /** Metadata keys with a column for policies; undefined: all. */
  readonly columns?: readonly string[] | undefined;
  /** Header of the result in result files, if configured: no metadata column may have it. */
  readonly resultColumn?: string | undefined;
}

const STANDARD_COLUMNS: ReadonlySet<string> = new Set(
  [...Object.values(RESULT_COLUMNS), REFERENCE_COLUMN].map(foldName),
);
const CONTROL_CHARACTER = /\p{Cc}/u;
/** Longest header; a longer key is data. */
const MAX_LENGTH = 1000;

/** Returns the form by which headers are compared: without case, padding and width. */
export function foldName(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

/** True for the header of the result: the service's name and ` result`. */
export function isResultColumn(name: string): boolean {
  const fold = foldName(name);
  return fold.endsWith(RESULT_SUFFIX) && fold !== foldName(RESULT_COLUMNS.expected);
}

/** Returns the header for a metadata key; undefined if it can have none. */
export function headerFor(key: string, { resultColumn }: ColumnOptions): string | undefined {
  const isPlain =
    key !== '' &&
    key.length <= MAX_LENGTH &&
    key === key.trim() &&
    key.isWellFormed() &&
    !CONTROL_CHARACTER.test(key) &&
    !STANDARD_COLUMNS.has(foldName(key)) &&
    !isResultColumn(key) &&
    (resultColumn === undefined || foldName(resultColumn) !== foldName(key));
  return isPlain ? key : undefined;
}
