/**
 * Reviews an uploaded CSV (service-interface.md 2.2) into a result CSV (2.3), a slice of rows at a time: memory is bounded
 * by the longest row, and the event loop gets its turn after each slice.
 */
import type { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import { CONTENT_COLUMN } from '../../service/contract.ts';
import type { FileFault, RowsFault } from '../faults/schema.ts';
import { type Judge, judgeFor } from '../policy/judge.ts';
import type { Policy } from '../policy/schema.ts';
import type { Draft } from '../storage/object-store.ts';
import { csvRows, InvalidUpload } from './csv-rows.ts';
import { type ResultLayout, resultLayout } from './result-layout.ts';
import { RowMangler } from './row-mangler.ts';
import { writeWrongFile } from './wrong-file.ts';

export interface ReviewCounts {
  readonly rows: number;
  readonly errorRows: number;
}

export interface ReviewRequest {
  readonly type: string;
  readonly policy: Policy;
  readonly fault: RowsFault | FileFault | undefined;
}

/** @throws InvalidUpload; the signal's reason when it aborts. The caller ends the draft. */
export async function reviewFile(
  upload: Readable,
  draft: Draft,
  request: ReviewRequest,
  signal: AbortSignal,
): Promise<ReviewCounts> {
  const review = new Review(request);
  const wrong = request.fault?.action === 'file' ? request.fault : undefined;
  for await (const rows of csvRows(upload)) {
    signal.throwIfAborted();
    const results = review.slice(rows);
    if (wrong === undefined) await draft.write(results);
  }
  const end = review.end();
  await (wrong === undefined ? draft.write(end) : writeWrongFile(draft, wrong, review.header));
  return review;
}

interface OpenFile {
  readonly judge: Judge;
  readonly layout: ResultLayout;
  readonly mangler: RowMangler | undefined;
}

class Review implements ReviewCounts {
  rows = 0;
  errorRows = 0;
  /** CSV text of the header; empty before the first slice. */
  header = '';
  readonly #request: ReviewRequest;
  #file: OpenFile | undefined;

  constructor(request: ReviewRequest) {
    this.#request = request;
  }

  /** CSV text of the results of these rows; the first row of the first slice is the header. */
  slice(rows: string[][]): string {
    if (this.#file !== undefined) return this.#results(rows, this.#file);
    const [header = [], ...data] = rows;
    const { policy, type, fault } = this.#request;
    const contentColumn = header.indexOf(CONTENT_COLUMN);
    if (contentColumn < 0)
      throw new InvalidUpload(`the upload has no column named ${CONTENT_COLUMN}`);
    const layout = resultLayout(header, policy);
    const mangler = fault?.action === 'rows' ? new RowMangler(fault, header, layout) : undefined;
    this.#file = { judge: judgeFor(policy.review, type, header, contentColumn), layout, mangler };
    this.header = mangler?.header(layout.header) ?? stringify([layout.header]);
    return this.header + this.#results(data, this.#file);
  }

  end(): string {
    if (this.#file === undefined)
      throw new InvalidUpload('the upload is empty: it needs a header row');
    return this.#file.mangler?.end() ?? '';
  }

  #results(rows: string[][], { judge, layout, mangler }: OpenFile): string {
    const results = rows.map((cells) => {
      const verdict = judge(cells);
      if (verdict.failsBatch)
        throw new InvalidUpload(
          'a rule of the policy fails every batch with a row like one of these',
        );
      if (verdict.status === 'ERROR') this.errorRows += 1;
      return layout.row(cells, verdict);
    });
    this.rows += rows.length;
    return mangler?.rows(results) ?? stringify(results);
  }
}
