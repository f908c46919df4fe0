/**
 * Spoils a result file on its way out, as a `rows` fault asks. Which rows are hit follows from their order alone: the first
 * `missing` rows are left out, the next `duplicated` come twice, the next `malformed` have a broken reference, and
 * `unknown` further rows follow at the end. Columns are left out last of all.
 */
import { stringify } from 'csv-stringify/sync';
import { RESULT_COLUMNS } from '../../service/contract.ts';
import type { RowsFault } from '../faults/schema.ts';
import type { ResultLayout } from './result-layout.ts';

/** Neither JSON nor anything else that a caller may have sent. */
const BROKEN = '{"broken';
/** Added to every whole number of a reference, so that it names something never sent. */
const FAR_AWAY = 1_000_000_000;

export class RowMangler {
  readonly #fault: RowsFault;
  readonly #refColumn: number;
  readonly #contentColumn: number;
  readonly #dropped: ReadonlySet<number>;
  #seen = 0;
  #last: readonly string[] | undefined;
  #random = 1;

  /** @param header of the upload: its last column is the reference unless the fault names another. */
  constructor(fault: RowsFault, header: readonly string[], layout: ResultLayout) {
    this.#fault = fault;
    const named = fault.refColumn === undefined ? -1 : header.indexOf(fault.refColumn);
    this.#refColumn = layout.indexOf(named >= 0 ? named : header.length - 1);
    this.#contentColumn = layout.header.indexOf(RESULT_COLUMNS.content);
    this.#dropped = new Set(fault.dropped.map((name) => layout.header.indexOf(name)));
  }

  header(header: readonly string[]): string {
    return this.#csv([[...header, ...Object.keys(this.#fault.columns)]]);
  }

  /** Shuffles within what is given: a slice of the file, the whole of it when it is small. */
  rows(rows: readonly (readonly string[])[]): string {
    const out = rows.flatMap((row) => this.#one(row));
    return this.#csv(this.#fault.shuffled ? this.#shuffled(out) : out);
  }

  end(): string {
    const { unknown } = this.#fault;
    const last = this.#last;
    if (last === undefined) return '';
    const rows = Array.from({ length: unknown }, (_, index) =>
      this.#widened(
        last.map((cell, column) =>
          column === this.#refColumn
            ? cell.replace(/\d+/g, (digits) => String(Number(digits) + FAR_AWAY + index))
            : cell,
        ),
      ),
    );
    return this.#csv(rows);
  }

  #csv(rows: readonly (readonly string[])[]): string {
    const { unclosed } = this.#fault;
    const text = (row: readonly string[]) =>
      stringify([row.filter((_, column) => !this.#dropped.has(column))]);
    return rows
      .map((row) =>
        unclosed !== undefined && row[this.#contentColumn]?.includes(unclosed)
          ? `"${text(row)}`
          : text(row),
      )
      .join('');
  }

  #one(row: readonly string[]): string[][] {
    const { missing, duplicated, malformed } = this.#fault;
    const position = this.#seen;
    this.#seen += 1;
    this.#last = row;
    if (position < missing) return [];
    const whole = this.#widened(row);
    if (position < missing + duplicated) return [whole, whole];
    if (position < missing + duplicated + malformed) whole[this.#refColumn] = BROKEN;
    return [whole];
  }

  #widened(row: readonly string[]): string[] {
    return [...row, ...Object.values(this.#fault.columns)];
  }

  #shuffled(rows: string[][]): string[][] {
    return rows
      .map((row) => ({ row, rank: this.#next() }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ row }) => row);
  }

  /** A linear congruential generator: the same shuffle in every run. */
  #next(): number {
    this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#random;
  }
}
