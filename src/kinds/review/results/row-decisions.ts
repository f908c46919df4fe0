/**
 * Decisions of the rows of one result file. Of a row only status, result, labels and the
 * connector's own column are read, so a service cannot change what a decision says of its event.
 */

import type { ResultHeader } from '../../../../packages/client/src/results/result-header.ts';
import type { RowScanner } from '../../../../packages/client/src/results/row-scanner.ts';
import { RESULT_COLUMNS } from '../../../../packages/client/src/service/contract.ts';
import type { SliceWriter } from '../../../core/bytes/slice-writer.ts';
import { crashOf, internalPoison } from '../../../core/outcome/internal-error.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { DecisionWriter, NULL } from '../decision/decision-writer.ts';
import { EventPart } from '../decision/event-part.ts';
import { FORGED, RowSeal } from '../decision/row-seal.ts';
import { CellMemo } from './cell-memo.ts';
import type { ResultNotice } from './notices.ts';
import {
  labelPart,
  NO_LABEL_PART,
  NO_RESULT,
  resultPart,
  SUCCESS,
  statusPart,
} from './verdict-parts.ts';

/** Error of an item for which the service reports an error without a reason. */
const REVIEW_FAILED = Buffer.from(
  '{"code":"review_failed","message":"The service could not review this item."}',
);

const NOT_UTF8 = 'a cell of the row is not UTF-8 (Latin-1, perhaps)';

export class RowDecisions {
  readonly #header: ResultHeader;
  readonly #onNotice: (notice: ResultNotice) => void;
  readonly #labels = new CellMemo(labelPart, ({ json }) => json.length);
  readonly #results = new CellMemo(resultPart, ({ json }) => json.length);
  readonly #part = new EventPart();
  readonly #writer: DecisionWriter;
  #rowKey: string | undefined;
  #seal: RowSeal | undefined;

  /** @param names of the file's columns @param topic the source topic */
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

  /** Writes the decision of a row, or the reason why it has none. Never throws. */
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

  /** True if the reference of a row is the one that was uploaded. */
  isAuthentic(row: RowScanner, job: JobContext): boolean {
    return this.#open(row, job) === undefined;
  }

  /** @returns the reason why the row has no decision */
  #write(row: RowScanner, job: JobContext, slice: SliceWriter): string | undefined {
    const header = this.#header;
    const part = this.#part;
    if (row.cells !== header.width)
      return `the row has ${row.cells} cells, the header ${header.width}`;
    const problem = this.#open(row, job);
    if (problem !== undefined) return problem;
    const status = statusPart(row, header, this.#onNotice);
    if (status !== SUCCESS && !row.isUtf8(header.status)) return NOT_UTF8;
    if (status === undefined)
      return 'the row has neither a result nor a status that says how its review ended';
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

  /** Reads the reference. @returns why it is not authentic */
  #open(row: RowScanner, job: JobContext): string | undefined {
    const { reference } = this.#header;
    const [start, end] = [row.start(reference), row.end(reference)];
    return this.#sealOf(job).open(row.bytes, start, end, this.#part);
  }

  #sealOf({ rowKey }: JobContext): RowSeal {
    if (this.#seal === undefined || rowKey !== this.#rowKey) {
      if (rowKey === undefined) throw new Error('a job of reviews has no key of its rows');
      this.#rowKey = rowKey;
      this.#seal = new RowSeal(rowKey);
    }
    return this.#seal;
  }
}
