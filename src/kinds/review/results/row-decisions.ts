/**
 * Decisions for the rows of one result file. Only status, result, labels and the connector's own
 * column are read, so the service cannot change what a decision contains about its event.
 */

import { shownCode } from '../../../../packages/client/src/base/shown-text.ts';
import { readLabels } from '../../../../packages/client/src/results/labels.ts';
import type { ResultHeader } from '../../../../packages/client/src/results/result-header.ts';
import type { RowScanner } from '../../../../packages/client/src/results/row-scanner.ts';
import {
  normaliseDecisionStatus,
  RESULT_COLUMNS,
} from '../../../../packages/client/src/service/contract.ts';
import type { SliceWriter } from '../../../core/bytes/slice-writer.ts';
import { crashOf, internalPoison } from '../../../core/outcome/internal-error.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { DecisionWriter, ERROR, NO_LABELS, NULL } from '../decision-writer.ts';
import { EventPart } from '../event-part.ts';
import { FORGED, RowSeal } from '../row-seal.ts';

// Deviations of result files from the API. They are tolerated, and each is logged once.

/** Log message of each kind of notice. */
export const NOTICES = {
  unknown_status: 'result files have a status that the interface does not define',
  labels_not_json: 'result files have labels that are not JSON',
  missing_column: 'result files lack a column that the interface requires; decisions omit it',
  missing_result_column:
    'result files have no result column ("… result"), so decisions have no result; if it has another name, set review.resultColumn',
  several_result_columns:
    'result files have more than one result column ("… result"); set review.resultColumn to choose one',
} as const;

export interface ResultNotice {
  readonly kind: keyof typeof NOTICES;
  /** Details of the deviation. Never contains content (I6). */
  readonly value: string;
}

/** Memory of a cache entry in bytes, in addition to its cell and its value. */
const ENTRY_BYTES = 200;
const MAX_BYTES = 256 * 1024;
/** Maximum size of a cell to cache. Larger cells rarely repeat, and would take the memory of many small ones. */
const MAX_CELL_BYTES = 8 * 1024;

/**
 * Cache of values made from cells, so that repeated cells are not decoded and parsed again. When
 * the cache is full, it is emptied, because every row may have a different cell.
 */
export class CellMemo<T> {
  readonly #make: (text: string) => T;
  readonly #bytesOf: (made: T) => number;
  /** Values by the bytes of the cell: first for cells without doubled quotes, then for cells with them. */
  readonly #made = [new Map<string, T>(), new Map<string, T>()] as const;
  #heldBytes = 0;

  /** @param bytesOf returns a value's memory in bytes, without the cell */
  constructor(make: (text: string) => T, bytesOf: (made: T) => number = () => 0) {
    this.#make = make;
    this.#bytesOf = bytesOf;
  }

  /** Returns the value of a cell of a row. */
  ofCell(row: RowScanner, cell: number): T {
    return this.at(row.bytes, row.start(cell), row.end(cell), row.isDoubled(cell));
  }

  /** Returns the value of a cell in a buffer. @param isDoubled true if the cell has doubled quotes */
  at(bytes: Buffer, start: number, end: number, isDoubled: boolean): T {
    if (end - start > MAX_CELL_BYTES) return this.#make(textOf(bytes, start, end, isDoubled));
    const values = this.#made[isDoubled ? 1 : 0];
    const cell = bytes.toString('latin1', start, end);
    const known = values.get(cell);
    if (known !== undefined) return known;
    const made = this.#make(textOf(bytes, start, end, isDoubled));
    this.#heldBytes += ENTRY_BYTES + 2 * cell.length + this.#bytesOf(made);
    if (this.#heldBytes > MAX_BYTES) {
      for (const full of this.#made) full.clear();
      this.#heldBytes = 0;
    } else values.set(cell, made);
    return made;
  }
}

function textOf(bytes: Buffer, start: number, end: number, isDoubled: boolean): string {
  const text = bytes.toString('utf8', start, end);
  return isDoubled ? text.replaceAll('""', '"') : text;
}

// Parts of a decision that depend on the cells of a result row.

interface StatusPart {
  /** Value of `status`, optionally followed by `service_status`. */
  readonly json: Buffer;
  readonly isError: boolean;
}

interface LabelPart {
  /** Value of `labels`, optionally followed by `labels_raw`. */
  readonly json: Buffer;
  readonly isJson: boolean;
  readonly isReplaced: boolean;
}

interface ResultPart {
  readonly json: Buffer;
  /** undefined if there is no result. */
  readonly text: string | undefined;
  /** True if the text contains U+FFFD, the replacement for bytes that are not UTF-8. */
  readonly isReplaced: boolean;
}

const SUCCESS: StatusPart = { json: Buffer.from('"SUCCESS"'), isError: false };
const FAILED: StatusPart = { json: ERROR, isError: true };
const NO_LABEL_PART: LabelPart = { json: NO_LABELS, isJson: true, isReplaced: false };
const NO_RESULT: ResultPart = { json: NULL, text: undefined, isReplaced: false };

/**
 * Reads the status of a row. An unknown status is a success if there is a result.
 * @returns undefined if the review has not ended
 */
function statusPart(
  row: RowScanner,
  { status, result }: ResultHeader,
  onNotice: (notice: ResultNotice) => void,
): StatusPart | undefined {
  if (isSuccess(row, status)) return SUCCESS;
  const text = status === -1 ? '' : row.text(status).trim();
  const known = text.toUpperCase();
  if (known === 'SUCCESS') return SUCCESS;
  if (known === 'ERROR') return FAILED;
  const hasResult = row.size(result) > 0;
  if (!hasResult && (text === '' || normaliseDecisionStatus(text) === 'PENDING')) return undefined;
  // If the file's cells are shifted, this cell may have content, so only a plain code is reported.
  if (status !== -1) onNotice({ kind: 'unknown_status', value: shownCode(text) ?? '' });
  const part = hasResult ? SUCCESS : FAILED;
  if (text === '') return part;
  return { ...part, json: Buffer.from(`${part.json},"service_status":${JSON.stringify(text)}`) };
}

/** Returns true for the status that nearly all rows have. It is compared without decoding. */
function isSuccess(row: RowScanner, column: number): boolean {
  const word = SUCCESS.json;
  if (row.size(column) !== word.length - 2) return false;
  // The word in SUCCESS.json is preceded by a quote.
  const before = row.start(column) - 1;
  for (let at = 1; at < word.length - 1; at++)
    if (row.bytes[before + at] !== word[at]) return false;
  return true;
}

/** Reads the text of a result cell. */
function resultPart(text: string): ResultPart {
  if (text === '') return NO_RESULT;
  return { json: Buffer.from(JSON.stringify(text)), text, isReplaced: isReplaced(text) };
}

/** Reads the text of a label cell. */
function labelPart(text: string): LabelPart {
  const { json, raw } = readLabels(text);
  const rawPart = raw === undefined ? '' : `,"labels_raw":${JSON.stringify(raw)}`;
  const isJson = raw === undefined;
  return { json: Buffer.from(json + rawPart), isJson, isReplaced: isReplaced(text) };
}

const isReplaced = (text: string): boolean => text.includes('\ufffd');

/** Error of an item for which the service reports an error without a reason. */
const REVIEW_FAILED = Buffer.from(
  '{"code":"review_failed","message":"The service could not review this item."}',
);

const NOT_UTF8 = 'a cell of the row is not UTF-8 (possibly Latin-1)';

export class RowDecisions {
  readonly #header: ResultHeader;
  readonly #onNotice: (notice: ResultNotice) => void;
  readonly #labels = new CellMemo(labelPart, ({ json }) => json.length);
  readonly #results = new CellMemo(resultPart, ({ json }) => json.length);
  readonly #part = new EventPart();
  readonly #writer: DecisionWriter;
  #rowKey: string | undefined;
  #seal: RowSeal | undefined;

  /** @param names column names of the file @param topic the source topic */
  constructor(
    header: ResultHeader,
    names: readonly string[],
    topic: string,
    onNotice: (notice: ResultNotice) => void,
  ) {
    this.#header = header;
    this.#onNotice = onNotice;
    this.#writer = new DecisionWriter(topic);
    if (header.result === -1) onNotice({ kind: 'missing_result_column', value: '' });
    if (header.several)
      onNotice({ kind: 'several_result_columns', value: names[header.result] ?? '' });
    if (header.status === -1) onNotice({ kind: 'missing_column', value: RESULT_COLUMNS.status });
    if (header.labels === -1) onNotice({ kind: 'missing_column', value: RESULT_COLUMNS.labels });
  }

  /** Number of columns of the file. */
  get columns(): number {
    return this.#header.width;
  }

  /** Writes the decision of a row, or the reason why there is none. Never throws. */
  write(row: RowScanner, job: JobContext, slice: SliceWriter): void {
    const part = this.#part;
    part.partition = -1;
    try {
      const malformed = this.#write(row, job, slice);
      if (malformed !== undefined)
        slice.addRow(malformed === FORGED ? { malformed, forged: true } : { malformed });
    } catch (error) {
      const { partition, offset } = part;
      slice.addRow(
        partition === -1
          ? { malformed: 'the connector failed on this row', crash: crashOf(error) }
          : { partition, offset, poison: internalPoison(error) },
      );
    }
  }

  /** Returns true if the row's reference equals the uploaded one. */
  isAuthentic(row: RowScanner, job: JobContext): boolean {
    return this.#open(row, job) === undefined;
  }

  /** Writes a row's decision. Returns the reason if the row cannot have one. */
  #write(row: RowScanner, job: JobContext, slice: SliceWriter): string | undefined {
    const header = this.#header;
    const part = this.#part;
    if (row.cells !== header.width)
      return `the row has ${row.cells} cells, but the header has ${header.width}`;
    const problem = this.#open(row, job);
    if (problem !== undefined) return problem;
    const status = statusPart(row, header, this.#onNotice);
    if (status !== SUCCESS && !row.isUtf8(header.status)) return NOT_UTF8;
    if (status === undefined) return 'the row has neither a result nor a final status';
    const labels = header.labels === -1 ? NO_LABEL_PART : this.#labels.ofCell(row, header.labels);
    if (labels.isReplaced && !row.isUtf8(header.labels)) return NOT_UTF8;
    if (!labels.isJson) this.#onNotice({ kind: 'labels_not_json', value: '' });
    const result =
      row.size(header.result) === 0 ? NO_RESULT : this.#results.ofCell(row, header.result);
    if (result.isReplaced && !row.isUtf8(header.result)) return NOT_UTF8;

    const writer = this.#writer;
    writer.begin(job);
    const verdict = {
      status: status.json,
      result: result.json,
      labels: labels.json,
      error: status.isError ? REVIEW_FAILED : NULL,
    };
    const to = slice.reserve(writer.room(part, verdict));
    const end = writer.write(part, verdict, to, slice.end);
    slice.add(part.partition, part.offset, status.isError, result.text, end);
    return undefined;
  }

  /** Reads the reference. @returns the reason if the reference is not authentic */
  #open(row: RowScanner, job: JobContext): string | undefined {
    const { reference } = this.#header;
    const [start, end] = [row.start(reference), row.end(reference)];
    return this.#sealOf(job).open(row.bytes, start, end, this.#part);
  }

  #sealOf({ rowKey }: JobContext): RowSeal {
    if (this.#seal === undefined || rowKey !== this.#rowKey) {
      if (rowKey === undefined) throw new Error('a review job has no row key');
      this.#rowKey = rowKey;
      this.#seal = new RowSeal(rowKey);
    }
    return this.#seal;
  }
}
