/**
 * Columns of a result file (service-interface.md 2.3): which of them are the service's, and which came with the upload. An upload may
 * have had columns of the same names.
 */
import { foldName, isResultColumn } from '../kinds/review/metadata/column-names.ts';
import { type ResultHeader, readResultHeader } from '../kinds/review/results/result-header.ts';
import { RESULT_COLUMNS } from '../service/contract.ts';

export interface RowShape {
  readonly header: ResultHeader;
  readonly metadata: readonly { readonly name: string; readonly index: number }[];
}

/**
 * Of several columns named Status the service's is the first that holds one; its other columns follow that one.
 * @param row the first below the header
 * @throws ServiceError protocol for a header without the columns that nothing can be done without.
 */
export function shapeOf(
  names: readonly string[],
  row: readonly string[],
  resultColumn: string | undefined,
): RowShape {
  const header = readResultHeader(names, { resultColumn });
  const folds = names.map(foldName);
  const places = (wanted: (fold: string) => boolean) =>
    folds.flatMap((fold, index) => (wanted(fold) ? [index] : []));
  const named = (name: string) => places((fold) => fold === foldName(name));
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
  const metadata = new Map<string, number>();
  // Of two columns with one name the first counts.
  for (const [index, name] of names.entries())
    if (!standard.has(index) && !metadata.has(name)) metadata.set(name, index);
  return {
    header: { ...header, status, result, labels },
    metadata: [...metadata].map(([name, index]) => ({ name, index })),
  };
}

/** SUCCESS or ERROR in any case; undefined for anything else. */
export function knownStatus(text: string): string | undefined {
  const known = text.trim().toUpperCase();
  return known === 'SUCCESS' || known === 'ERROR' ? known : undefined;
}
