/** Parts of a decision that the cells of a result row determine. */
import { shownCode } from '../../../../packages/client/src/base/shown-code.ts';
import { readLabels } from '../../../../packages/client/src/results/labels.ts';
import type { ResultHeader } from '../../../../packages/client/src/results/result-header.ts';
import type { RowScanner } from '../../../../packages/client/src/results/row-scanner.ts';
import { normaliseDecisionStatus } from '../../../../packages/client/src/service/contract.ts';
import { ERROR, NO_LABELS, NULL } from '../decision/decision-writer.ts';
import type { ResultNotice } from './notices.ts';

interface StatusPart {
  /** Value of `status`, and perhaps `service_status`. */
  readonly json: Buffer;
  readonly isError: boolean;
}

interface LabelPart {
  /** Value of `labels`, and perhaps `labels_raw`. */
  readonly json: Buffer;
  readonly isJson: boolean;
  readonly isReplaced: boolean;
}

interface ResultPart {
  readonly json: Buffer;
  /** undefined without a result. */
  readonly text: string | undefined;
  /** True if the text has U+FFFD, which stands for bytes that are not UTF-8. */
  readonly isReplaced: boolean;
}

export const SUCCESS: StatusPart = { json: Buffer.from('"SUCCESS"'), isError: false };
const FAILED: StatusPart = { json: ERROR, isError: true };
export const NO_LABEL_PART: LabelPart = { json: NO_LABELS, isJson: true, isReplaced: false };
export const NO_RESULT: ResultPart = { json: NULL, text: undefined, isReplaced: false };

/**
 * Reads the status of a row. An unknown one is a success if there is a result.
 * @returns undefined if the review of the row has not ended
 */
export function statusPart(
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
  // In a file whose cells have shifted the text may be content.
  if (status !== -1) onNotice({ kind: 'unknown_status', value: shownCode(text) ?? '' });
  const part = hasResult ? SUCCESS : FAILED;
  if (text === '') return part;
  return { ...part, json: Buffer.from(`${part.json},"service_status":${JSON.stringify(text)}`) };
}

/** Compares without decoding: nearly all rows have this status. */
function isSuccess(row: RowScanner, column: number): boolean {
  const word = SUCCESS.json;
  if (row.size(column) !== word.length - 2) return false;
  // The JSON has a quote before the word.
  const before = row.start(column) - 1;
  for (let at = 1; at < word.length - 1; at++)
    if (row.bytes[before + at] !== word[at]) return false;
  return true;
}

/** Reads the text of a result cell. */
export function resultPart(text: string): ResultPart {
  if (text === '') return NO_RESULT;
  return { json: Buffer.from(JSON.stringify(text)), text, isReplaced: isReplaced(text) };
}

/** Reads the text of a label cell. */
export function labelPart(text: string): LabelPart {
  const { json, raw } = readLabels(text);
  const rawPart = raw === undefined ? '' : `,"labels_raw":${JSON.stringify(raw)}`;
  const isJson = raw === undefined;
  return { json: Buffer.from(json + rawPart), isJson, isReplaced: isReplaced(text) };
}

const isReplaced = (text: string): boolean => text.includes('\ufffd');
