import { RESULT_COLUMNS } from '../service/contract.ts';
import { foldName, isResultColumn } from './column-names.ts';
import { type ResultHeader, readResultHeader } from './result-header.ts';

/** Columns of a result file. Columns of the upload may have the same names as the service's. */
export interface RowShape {
  readonly header: ResultHeader;
  readonly metadata: readonly { readonly name: string; readonly index: number }[];
}

/**
 * Distinguishes the service's columns from the uploaded ones. Of several columns named Status the service's is the first that
 * holds a status; its other columns follow that one.
 * @param row the first below the header.
 * @throws ServiceError `protocol` for a header without an indispensable column.
 */
export function shapeOf(
  names: readonly string[],
  row: readonly string[],
  resultColumn: string | undefined,
): RowShape {
  const header = readResultHeader(names, { resultColumn });
  const places = (isWanted: (name: string) => boolean) =>
    names.flatMap((name, index) => (isWanted(name) ? [index] : []));
  const named = (wanted: string) => places((name) => foldName(name) === foldName(wanted));

  const statuses = named(RESULT_COLUMNS.status);
  const status =
    statuses.find((index) => statuses.length > 1 && knownStatus(row[index] ?? '') !== undefined) ??
    header.status;
  const following = (candidates: readonly number[], first: number) =>
    candidates.length > 1 ? (candidates.find((index) => index > status) ?? first) : first;
  const result = following(
    resultColumn === undefined ? places(isResultColumn) : named(resultColumn),
    header.result,
  );
  const labels = following(named(RESULT_COLUMNS.labels), header.labels);

  const standard = new Set([header.content, status, result, header.expected, labels]);
  const seen = new Set<string>();
  const metadata = names.flatMap((name, index) => {
    // Of two columns with one name the first counts.
    if (standard.has(index) || seen.has(name)) return [];
    seen.add(name);
    return [{ name, index }];
  });
  return { header: { ...header, status, result, labels }, metadata };
}

/** Returns SUCCESS or ERROR, spelled in any case; undefined for any other text. */
export function knownStatus(text: string): string | undefined {
  return /^\s*(SUCCESS|ERROR)\s*$/i.exec(text)?.[1]?.toUpperCase();
}
