/**
 * Result rows with the defects of a `rows` fault. Which rows are hit follows from their order: the
 * first `missing` rows are left out, the next `duplicated` come twice, the next `malformed` have a
 * broken reference, the next `forged` another one, and `unknown` further rows follow at the end. Columns are left out last.
 */
import { stringify } from 'csv-stringify/sync';
import { RESULT_COLUMNS } from '../../../client/src/service/contract.ts';
import type { Fault } from '../faults/schema.ts';

type Row = readonly string[];

/** Neither JSON nor anything else that a caller may have sent. */
const BROKEN = '{"broken';
/** Added to every whole number of a reference, so that it is another one. */
const FAR_AWAY = 1_000_000_000;

/**
 * @param header of the result file
 * @param referenceColumn index in the result of an upload's column, by default the last one
 */
export function spoiledRows(
  fault: Extract<Fault, { action: 'rows' }>,
  header: Row,
  referenceColumn: (name: string | undefined) => number,
) {
  const { missing, duplicated, malformed, forged, unknown, shuffled, unclosed } = fault;
  const reference = referenceColumn(fault.refColumn);
  const content = header.indexOf(RESULT_COLUMNS.content);
  const dropped = new Set(fault.dropped.map((name) => header.indexOf(name)));
  const added = Object.values(fault.columns);
  let seen = 0;
  let last: Row | undefined;

  const lineOf = (row: Row): string => {
    const opened = unclosed !== undefined && row[content]?.includes(unclosed) ? '"' : '';
    return opened + stringify([row.filter((_, column) => !dropped.has(column))]);
  };
  const csv = (rows: readonly Row[]): string => rows.map(lineOf).join('');
  const spoil = (row: Row): Row[] => {
    const position = seen++;
    last = row;
    const whole = [...row, ...added];
    if (position < missing) return [];
    if (position < missing + duplicated) return [whole, whole];
    if (position < missing + duplicated + malformed) return [whole.with(reference, BROKEN)];
    if (position >= missing + duplicated + malformed + forged) return [whole];
    return [whole.with(reference, changed(row[reference] ?? ''))];
  };
  const strange = (row: Row, number: number): Row => {
    const moved = (digits: string) => String(Number(digits) + FAR_AWAY + number);
    const text = row[reference]?.replace(/\d+/g, moved) ?? '';
    return [...row.with(reference, text), ...added];
  };

  return {
    header: csv([[...header, ...Object.keys(fault.columns)]]),
    /** Shuffles within the rows given: a slice of the file, the whole of it when it is small. */
    rows(rows: readonly Row[]): string {
      const spoiled = rows.flatMap(spoil);
      return csv(shuffled ? mixed(spoiled) : spoiled);
    },
    end(): string {
      const row = last;
      return row === undefined
        ? ''
        : csv(Array.from({ length: unknown }, (_, n) => strange(row, n)));
    },
  };
}

/** A text with another character in its middle. */
function changed(text: string): string {
  const middle = text.length >> 1;
  return text.slice(0, middle) + (text[middle] === 'A' ? 'B' : 'A') + text.slice(middle + 1);
}

/** The rows in another order, which is the same in every run. */
function mixed(rows: readonly Row[]): Row[] {
  return rows
    .map((row, index) => ({ row, rank: Math.imul(index + 1, 0x9e3779b1) >>> 0 }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ row }) => row);
}
