/** Header of a result file. Columns are found by name, in any order. */

import { ServiceError } from '../base/service-error.ts';
import { RESULT_COLUMNS, RESULT_SUFFIX } from '../service/contract.ts';

// Column names (docs/metadata.md). A metadata column has its metadata key as header, so that a
// policy can find it. A key gets no column if it could be mistaken for another column, or changed
// in transit.

/** Header of the connector's own column. */
export const REFERENCE_COLUMN = 'connector_ref';

export interface ColumnOptions {
  /** Metadata keys that get a column for policies. undefined means all. */
  readonly columns?: readonly string[] | undefined;
  /** Configured header of the result column in result files. No metadata column may have this header. */
  readonly resultColumn?: string | undefined;
}

const STANDARD_COLUMNS: ReadonlySet<string> = new Set(
  [...Object.values(RESULT_COLUMNS), REFERENCE_COLUMN].map(foldName),
);
const CONTROL_CHARACTER = /\p{Cc}/u;
/** Maximum length of a header. A longer key is not a name but data. */
const MAX_LENGTH = 1000;

/** Returns the form of a header for comparisons, without differences in case, padding and character width. */
export function foldName(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

/** Returns true for a header that ends in ` result`, except `Expected result`. */
export function isResultColumn(name: string): boolean {
  const fold = foldName(name);
  return fold.endsWith(RESULT_SUFFIX) && fold !== foldName(RESULT_COLUMNS.expected);
}

/** Returns the header for a metadata key, or undefined if the key gets no column. */
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

/** Index of each column, or -1 if it is missing. */
export interface ResultHeader {
  readonly width: number;
  readonly content: number;
  readonly status: number;
  readonly result: number;
  /** True if several columns may have the result, and none is configured. */
  readonly several: boolean;
  readonly expected: number;
  readonly labels: number;
  readonly reference: number;
}

export interface WantedColumns {
  /** Header of the connector's own column. */
  readonly referenceColumn: string;
  /** Header of the result column. Default: the first that ends in ` result`, except `Expected result`. */
  readonly resultColumn?: string | undefined;
}

/** @throws ServiceError `protocol` if a required column is missing */
export function readResultHeader(
  names: readonly string[],
  { referenceColumn, resultColumn }: WantedColumns,
): ResultHeader {
  const folds = names.map(foldName);
  const indexOf = (name: string) => folds.indexOf(foldName(name));
  const content = indexOf(RESULT_COLUMNS.content);
  const status = indexOf(RESULT_COLUMNS.status);
  const expected = indexOf(RESULT_COLUMNS.expected);
  const labels = indexOf(RESULT_COLUMNS.labels);
  const results =
    resultColumn === undefined
      ? folds.flatMap((fold, index) => (isResultColumn(fold) ? [index] : []))
      : [indexOf(resultColumn)];
  const [result = -1] = results;
  const reference = indexOf(referenceColumn);
  const missing = (what: string) =>
    unreadable(
      /^\s*[<[{]/.test(names[0] ?? '')
        ? 'the result file is not CSV, but HTML, XML or JSON'
        : `the result file has ${what}`,
    );
  if (reference === -1) {
    throw missing(`no column "${referenceColumn}": the service must return uploaded columns`);
  }
  if (resultColumn !== undefined && result === -1) {
    throw missing(`no column "${resultColumn}", which is configured to hold the result`);
  }
  if (status === -1 && result === -1) {
    throw missing(`neither a column "${RESULT_COLUMNS.status}" nor one that ends in " result"`);
  }
  return {
    width: names.length,
    content,
    status,
    result,
    several: results.length > 1,
    expected,
    labels,
    reference,
  };
}

/** Returns the error for a file that violates the API. It never quotes the file (I6). */
export function unreadable(message: string): ServiceError {
  return new ServiceError('protocol', message, { operation: 'download' });
}
