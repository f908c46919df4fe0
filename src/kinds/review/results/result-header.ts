/** Header of a result file: columns by name, in any order. */
import { ServiceError } from '../../../core/outcome/service-error.ts';
import { RESULT_COLUMNS } from '../../../service/contract.ts';
import { foldName, isResultColumn } from '../metadata/column-names.ts';

/** Index of each column; -1 for one that the file lacks. */
export interface ResultHeader {
  readonly width: number;
  readonly content: number;
  readonly status: number;
  readonly result: number;
  /** True if several columns may be that of the result, and none is configured. */
  readonly several: boolean;
  readonly expected: number;
  readonly labels: number;
  readonly reference: number;
}

export interface WantedColumns {
  /** Header of the connector's own column; absent for files that it did not upload. */
  readonly referenceColumn?: string | undefined;
  /**
   * Header of the result. Absent: the one that ends in ` result` except `Expected result`; of
   * several the one that was alone in an earlier file, else the first.
   */
  readonly resultColumn?: string | undefined;
}

/** Columns seen in earlier files of a pipeline. */
export interface SeenColumns {
  /** Result column of the latest file with only one. */
  result: string | undefined;
}

/** @throws ServiceError `protocol` if a necessary column is missing */
export function readResultHeader(
  names: readonly string[],
  wanted: WantedColumns,
  seen?: SeenColumns,
): ResultHeader {
  const { referenceColumn, resultColumn } = wanted;
  const folds = names.map(foldName);
  const indexOf = (name: string) => folds.indexOf(foldName(name));
  const content = indexOf(RESULT_COLUMNS.content);
  const status = indexOf(RESULT_COLUMNS.status);
  const expected = indexOf(RESULT_COLUMNS.expected);
  const labels = indexOf(RESULT_COLUMNS.labels);
  const { result, several } = resultOf(folds, resultColumn, seen);
  const reference = referenceColumn === undefined ? -1 : indexOf(referenceColumn);
  if (referenceColumn !== undefined && reference === -1) {
    throw unreadable(
      `the result file has no column "${referenceColumn}": the service must return uploaded columns`,
    );
  }
  if (resultColumn !== undefined && result === -1) {
    throw unreadable(
      `the result file has no column "${resultColumn}", which is configured to hold the result`,
    );
  }
  if (status === -1 && result === -1) {
    throw unreadable(
      `the result file has neither a column "${RESULT_COLUMNS.status}" nor one that ends in " result"`,
    );
  }
  return {
    width: names.length,
    content,
    status,
    result,
    several,
    expected,
    labels,
    reference,
  };
}

function resultOf(
  folds: readonly string[],
  wanted: string | undefined,
  seen: SeenColumns | undefined,
) {
  if (wanted !== undefined) return { result: folds.indexOf(foldName(wanted)), several: false };
  const candidates = folds.flatMap((fold, index) => (isResultColumn(fold) ? [index] : []));
  const [first = -1] = candidates;
  const several = candidates.length > 1;
  if (seen !== undefined && candidates.length === 1) seen.result = folds[first];
  const before = candidates.find((index) => folds[index] === seen?.result);
  return { result: before ?? first, several };
}

/** Returns the error for a file that violates the interface. It never quotes the file (I6). */
export function unreadable(message: string): ServiceError {
  return new ServiceError('protocol', message, { operation: 'download' });
}
