/** The header of a result file (service-interface.md 2.3): columns by name, in any order, known and unknown. */
import { ServiceError } from '../../../core/outcome/service-error.ts';
import { RESULT_COLUMNS } from '../../../service/contract.ts';
import { foldName, isResultColumn, keyOfHeader } from '../metadata/column-names.ts';

/** Where each column is; -1 when the file has none of that name. */
export interface ResultHeader {
  readonly width: number;
  readonly content: number;
  readonly status: number;
  readonly result: number;
  /** The file has more than one column that might be that of the result, and none was asked for. */
  readonly several: boolean;
  readonly expected: number;
  readonly labels: number;
  readonly reference: number;
  /** Metadata key → index, of all other columns: only a row's shape tells which of them are ours. */
  readonly others: ReadonlyMap<string, number>;
}

export interface WantedColumns {
  /** Header of the connector's own column. Absent: the file is not one of its uploads. */
  readonly referenceColumn?: string | undefined;
  /** Header of the result. Absent: the one that ends in ` result` and is not `Expected result`; of several the one seen alone before, else the first. */
  readonly resultColumn?: string | undefined;
}

/** Columns seen in earlier files of a pipeline. */
export interface SeenColumns {
  /** The only result column of the latest file that had just one. */
  result: string | undefined;
}

/** @throws ServiceError protocol: no header, or one without the columns that nothing can be done without. */
export function readResultHeader(
  names: readonly string[],
  wanted: WantedColumns,
  seen?: SeenColumns,
): ResultHeader {
  const { referenceColumn, resultColumn } = wanted;
  const folds = names.map(foldName);
  const content = folds.indexOf(foldName(RESULT_COLUMNS.content));
  const status = folds.indexOf(foldName(RESULT_COLUMNS.status));
  const expected = folds.indexOf(foldName(RESULT_COLUMNS.expected));
  const labels = folds.indexOf(foldName(RESULT_COLUMNS.labels));
  const { result, several } = resultOf(folds, resultColumn, seen);
  const reference = referenceColumn === undefined ? -1 : folds.indexOf(foldName(referenceColumn));
  if (referenceColumn !== undefined && reference === -1) {
    throw unreadable(
      `the result file has no column "${referenceColumn}": the service must give uploaded columns back`,
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
  const standard = new Set([content, status, expected, labels, result, reference]);
  const others = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    const key = keyOfHeader(name);
    if (!standard.has(index) && !others.has(key)) others.set(key, index);
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
    others,
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

/** The error for a file that is not what the interface promises. It never quotes the file (I6). */
export function unreadable(message: string): ServiceError {
  return new ServiceError('protocol', message, { operation: 'download' });
}
