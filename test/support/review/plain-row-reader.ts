/** Rows of result files read cell by cell, as an oracle for the byte writer. */

import { isJsonText } from '../../../src/base/json/exact-json.ts';
import { shownCode } from '../../../src/base/shown-code.ts';
import type { MalformedRow, ReadRow, ResultRow } from '../../../src/core/bytes/result-row.ts';
import { crashOf, internalPoison } from '../../../src/core/outcome/internal-error.ts';
import type { JobContext } from '../../../src/core/ports/pipeline-kind.ts';
import type { OutgoingRecord } from '../../../src/core/record.ts';
import { type Reference, readReference } from '../../../src/kinds/review/reference.ts';
import { type LabelCell, readLabels } from '../../../src/kinds/review/results/labels.ts';
import type {
  MetadataPlan,
  MetadataPlans,
} from '../../../src/kinds/review/results/metadata-plans.ts';
import type { ResultNotice } from '../../../src/kinds/review/results/notices.ts';
import type { ResultHeader } from '../../../src/kinds/review/results/result-header.ts';
import { normaliseDecisionStatus, RESULT_COLUMNS } from '../../../src/service/contract.ts';
import type { DecisionFacts, DecisionRenderer } from './plain-decision.ts';

/** Error of an item for which the service reports an error without a reason. */
export const REVIEW_FAILED = {
  code: 'review_failed',
  message: 'The service could not review this item.',
} as const;

const NO_PARTS: MetadataPlan = [];

/** Reads the rows of one result file. */
export class ResultRowReader {
  readonly #header: ResultHeader;
  readonly #names: readonly string[];
  readonly #renderer: DecisionRenderer;
  readonly #notice: (notice: ResultNotice) => void;
  readonly #plans: MetadataPlans;

  constructor(
    header: ResultHeader,
    names: readonly string[],
    renderer: DecisionRenderer,
    plans: MetadataPlans,
    notice: (notice: ResultNotice) => void,
  ) {
    this.#header = header;
    this.#names = names;
    this.#renderer = renderer;
    this.#notice = notice;
    this.#plans = plans;
    if (header.result === -1) notice({ kind: 'missing_result_column', value: '' });
    if (header.several)
      notice({ kind: 'several_result_columns', value: names[header.result] ?? '' });
    if (header.status === -1) notice({ kind: 'missing_column', value: RESULT_COLUMNS.status });
    if (header.labels === -1) notice({ kind: 'missing_column', value: RESULT_COLUMNS.labels });
  }

  /** The row with its terminal record. Never throws. */
  read(cells: readonly string[], job: JobContext): ReadRow {
    let at: Reference | undefined;
    try {
      const reference = this.#reference(cells);
      if ('malformed' in reference) return reference;
      at = reference;
      return this.#read(cells, reference, job);
    } catch (error) {
      if (at === undefined)
        return { malformed: 'the connector failed on this row', crash: crashOf(error) };
      return { partition: at.partition, offset: at.offset, poison: internalPoison(error) };
    }
  }

  #reference(cells: readonly string[]): Reference | MalformedRow {
    const header = this.#header;
    if (cells.length !== header.width)
      return { malformed: `the row has ${cells.length} cells, the header ${header.width}` };
    const reference = readReference(cellAt(cells, header.reference));
    return reference.ok ? reference.value : { malformed: reference.error };
  }

  #read(cells: readonly string[], reference: Reference, job: JobContext): ResultRow | MalformedRow {
    for (const [key] of reference.metadata ?? []) this.#plans.claim(key);
    const parts =
      reference.shape === undefined ? NO_PARTS : this.#plans.byShape.of(reference.shape);
    if (parts === undefined)
      return {
        malformed: 'the reference names a metadata column that the result file lacks, or one twice',
      };
    for (const part of parts) {
      const cell = cellAt(cells, part.index);
      if (part.json && !isJsonText(cell))
        return { malformed: 'a metadata cell is not the JSON that was uploaded' };
    }
    const { partition, offset } = reference;
    const status = this.#status(cells);
    if (status === undefined)
      return {
        malformed: 'the row has neither a result nor a status that says how its review ended',
      };
    return {
      partition,
      offset,
      status,
      result: cellAt(cells, this.#header.result) || undefined,
      expected: (reference.expected ?? cellAt(cells, this.#header.expected)) || undefined,
      record: this.#render(cells, status, reference, parts, job),
    };
  }

  /** To be called after the last row: which columns no row laid claim to. */
  finish(): void {
    for (const index of this.#plans.unclaimed())
      this.#notice({ kind: 'unknown_column', value: this.#names[index] ?? '' });
  }

  #render(
    cells: readonly string[],
    status: ResultRow['status'],
    reference: Reference,
    parts: MetadataPlan,
    job: JobContext,
  ): OutgoingRecord {
    const header = this.#header;
    const result = cellAt(cells, header.result);
    const expected = cellAt(cells, header.expected);
    const service = cellAt(cells, header.status).trim();
    const facts: DecisionFacts = {
      status: status === 'success' ? 'SUCCESS' : 'ERROR',
      serviceStatus: statusOf(service) === undefined && service !== '' ? service : undefined,
      result: result === '' ? undefined : result,
      expected: reference.expected ?? (expected === '' ? undefined : expected),
      labels: this.#readLabels(cellAt(cells, header.labels)),
      metadata: metadataJson(cells, parts, reference),
      content:
        header.content === -1 ? undefined : contentOf(cellAt(cells, header.content), reference),
      error: status === 'error' ? REVIEW_FAILED : undefined,
    };
    return this.#renderer.render(reference, facts, job);
  }

  #readLabels(cell: string): LabelCell {
    const labels = readLabels(cell);
    if (labels.raw !== undefined) this.#notice({ kind: 'labels_not_json', value: '' });
    return labels;
  }

  /** An unknown status counts as success when there is a result. @returns undefined for a row without a decision */
  #status(cells: readonly string[]): 'success' | 'error' | undefined {
    const text = cellAt(cells, this.#header.status);
    const known = statusOf(text);
    if (known !== undefined) return known;
    const hasResult = cellAt(cells, this.#header.result) !== '';
    if (!hasResult && (text.trim() === '' || normaliseDecisionStatus(text) === 'PENDING'))
      return undefined;
    // In a file whose cells have shifted it may be content.
    if (this.#header.status !== -1)
      this.#notice({ kind: 'unknown_status', value: shownCode(text.trim()) ?? '' });
    return hasResult ? 'success' : 'error';
  }
}

function contentOf(cell: string, { escapedContent }: Reference): string {
  return escapedContent && cell.startsWith("'") ? cell.slice(1) : cell;
}

function cellAt(cells: readonly string[], index: number): string {
  return index === -1 ? '' : (cells[index] ?? '');
}

function statusOf(text: string): 'success' | 'error' | undefined {
  if (text === 'SUCCESS') return 'success';
  const known = text.trim().toUpperCase();
  if (known === 'SUCCESS') return 'success';
  return known === 'ERROR' ? 'error' : undefined;
}

function metadataJson(
  cells: readonly string[],
  parts: MetadataPlan,
  { metadata }: Reference,
): string {
  let json = '{';
  for (const { index, lead, json: isJson } of parts) {
    const cell = cellAt(cells, index);
    json += String(lead) + (isJson ? cell : JSON.stringify(cell));
  }
  if (metadata !== undefined) {
    for (const [key, text] of metadata)
      json += `${json.length === 1 ? '' : ','}${JSON.stringify(key)}:${text}`;
  }
  return `${json}}`;
}
