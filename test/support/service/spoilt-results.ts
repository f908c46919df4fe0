/** Faulty result files. Which rows are affected depends only on their order. */
import { stringify } from 'csv-stringify/sync';
import { RESULT_COLUMNS } from '../../../packages/client/src/service/contract.ts';

export type SpoiltRows =
  | {
      operation: 'review';
      action: 'rows';
      /**
       * Numbers of rows that are dropped, are duplicated, get a broken reference, or get another reference. The first
       * rows are dropped, the next ones duplicated, and so on.
       */
      missing?: number;
      duplicated?: number;
      malformed?: number;
      forged?: number;
      /** Number of extra rows at the end. */
      unknown?: number;
      shuffled?: boolean;
      /** Reverses the columns. */
      reversed?: boolean;
      /** Name of the reference column. Default: the last. */
      refColumn?: string;
      /** Additional columns, with one value for all rows. */
      columns?: Readonly<Record<string, string>>;
      /** Headers of columns to drop. */
      dropped?: readonly string[];
      /** A row with this string in its content starts with an unclosed quote. */
      unclosed?: string;
    }
  | { operation: 'review'; action: 'file'; as: 'html' | 'header_only' | 'commas'; bytes?: number };

type Row = readonly string[];

/** A cell that is not JSON, and unlike any reference that a caller may have sent. */
const BROKEN = '{"broken';
/** Number that is added to every integer of a reference to get another reference. */
const FAR_AWAY = 1_000_000_000;
const ERROR_PAGE =
  '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>Please try again later.</body></html>\n';

export function spoilt([header = [], ...rows]: readonly Row[], fault: SpoiltRows): string {
  if (fault.action === 'file') {
    if (fault.as === 'html') return ERROR_PAGE;
    const commas = fault.as === 'commas' ? `${','.repeat(fault.bytes ?? 2 ** 20)}\n` : '';
    return stringify([[...header]]) + commas;
  }
  const { missing = 0, duplicated = 0, malformed = 0, forged = 0, unknown = 0 } = fault;
  const { refColumn, columns = {}, dropped = [], unclosed } = fault;
  const reference = refColumn === undefined ? header.length - 1 : header.lastIndexOf(refColumn);
  const content = header.indexOf(RESULT_COLUMNS.content);
  const places = dropped.map((name) => header.indexOf(name));

  const lineOf = (row: Row, added: readonly string[]): string => {
    const opened = unclosed !== undefined && row[content]?.includes(unclosed) ? '"' : '';
    const kept = [...row.filter((_, column) => !places.includes(column)), ...added];
    return opened + stringify([fault.reversed ? kept.reverse() : kept]);
  };
  const bounds = [missing, duplicated, malformed, forged].map((_, index, counts) =>
    counts.slice(0, index + 1).reduce((sum, count) => sum + count, 0),
  );
  const spoiltRows = rows.flatMap((row, position): Row[] => {
    const hit = bounds.findIndex((bound) => position < bound);
    if (hit === 0) return [];
    if (hit === 1) return [row, row];
    if (hit === 2) return [row.with(reference, BROKEN)];
    if (hit === 3) return [row.with(reference, changed(row[reference] ?? ''))];
    return [row];
  });
  const last = rows.at(-1) ?? [];
  const strange = Array.from({ length: unknown }, (_, number) => {
    const moved = (digits: string) => String(Number(digits) + FAR_AWAY + number);
    return last.with(reference, (last[reference] ?? '').replace(/\d+/g, moved));
  });
  const ordered = fault.shuffled ? mixed(spoiltRows) : spoiltRows;
  return (
    lineOf(header, Object.keys(columns)) +
    [...ordered, ...strange].map((row) => lineOf(row, Object.values(columns))).join('')
  );
}

/** Changes the character in the middle of a string. */
function changed(text: string): string {
  const middle = text.length >> 1;
  return text.slice(0, middle) + (text[middle] === 'A' ? 'B' : 'A') + text.slice(middle + 1);
}

/** Returns the rows in another order, which is the same in every run. */
function mixed(rows: readonly Row[]): Row[] {
  return rows
    .map((row, index) => ({ row, rank: Math.imul(index + 1, 0x9e3779b1) >>> 0 }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ row }) => row);
}
