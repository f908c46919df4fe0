/** How batches, imports and decisions stand: for people, for machines, and as exit codes. */
import type { Batch, Decision, Import } from '../../client/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { printable, printableJson } from '../printable.ts';
import { counted, table } from '../table.ts';

export type Outcome = 'done' | 'failed' | 'partly_failed' | 'unfinished';

const CODES: Readonly<Record<Outcome, ExitCode>> = {
  done: EXIT.ok,
  failed: EXIT.failed,
  partly_failed: EXIT.partlyFailed,
  unfinished: EXIT.unfinished,
};

export const codeOf = (outcome: Outcome): ExitCode => CODES[outcome];

export function outcomeOfBatch({ status, counts }: Batch): Outcome {
  if (status === 'ERROR' || status === 'CANCELLED') return 'failed';
  if (status !== 'SUCCESS') return 'unfinished';
  return (counts.error ?? 0) + (counts.cancelled ?? 0) > 0 ? 'partly_failed' : 'done';
}

export function outcomeOfImport({ status }: Import): Outcome {
  return status === 'COMPLETE' ? 'done' : status === 'FAILED' ? 'failed' : 'unfinished';
}

export function outcomeOfDecision({ status }: Decision): Outcome {
  return status === 'SUCCESS' ? 'done' : status === 'ERROR' ? 'failed' : 'unfinished';
}

/** `PENDING`, or what stands in the way of the end. */
export const statusText = ({
  status,
  rawStatus,
}: {
  readonly status: string | undefined;
  readonly rawStatus: string;
}): string =>
  status === undefined
    ? `${printable(rawStatus)}, which this version does not know`
    : printable(rawStatus);

/** `PENDING, 400 of 2,000 rows decided`. */
export function batchState(batch: Batch): string {
  const { status, downloadUrl, counts } = batch;
  if (status === 'SUCCESS' && downloadUrl === undefined)
    return `${statusText(batch)}, but without an address for its results`;
  const { total, pending } = counts;
  const decided =
    total === undefined || total === 0 || pending === undefined
      ? ''
      : `, ${count(total - pending)} of ${counted(total, 'row')} decided`;
  return `${statusText(batch)}${decided}`;
}

const count = (rows: number) => rows.toLocaleString('en-US');

/** A line of JSON. */
export const jsonOf = (value: object) => `${printableJson(JSON.stringify(value))}\n`;

/** Without the presigned address, which is as good as a key. */
export function batchJson(batch: Batch): string {
  const { batchId, type, rawStatus, status, counts } = batch;
  return jsonOf({
    batchId,
    type: type ?? null,
    status: status ?? rawStatus,
    counts,
    outcome: outcomeOfBatch(batch),
  });
}

export function importJson(one: Import): string {
  return jsonOf({
    importId: one.importId,
    status: one.status ?? one.rawStatus,
    outcome: outcomeOfImport(one),
  });
}

export function decisionJson(decision: Decision): string {
  const { decisionId, status, rawStatus, result, labelsJson, metadataJson } = decision;
  const known = {
    decisionId,
    status: status ?? rawStatus,
    result,
    outcome: outcomeOfDecision(decision),
  };
  // Their numbers keep all of their digits.
  return `${printableJson(`${JSON.stringify(known).slice(0, -1)},"labels":${labelsJson},"metadata":${metadataJson}}`)}\n`;
}

export function batchText(batch: Batch): string {
  const { batchId, type, counts } = batch;
  const parts = [
    counts.success === undefined ? '' : `${count(counts.success)} decided`,
    counts.pending ? `${count(counts.pending)} pending` : '',
    counts.error ? `${count(counts.error)} failed` : '',
    counts.cancelled ? `${count(counts.cancelled)} cancelled` : '',
  ].filter(Boolean);
  const rows = counts.total === undefined ? '' : `${count(counts.total)}: ${parts.join(', ')}`;
  return facts([
    ['batch', batchId],
    ['type', type ?? ''],
    ['status', batch.rawStatus],
    ['rows', counts.total === 0 ? '' : rows],
  ]);
}

export function importText({ importId, rawStatus }: Import): string {
  return facts([
    ['import', importId],
    ['status', rawStatus],
  ]);
}

export function decisionText({
  decisionId,
  rawStatus,
  result,
  labels,
  metadataJson,
}: Decision): string {
  const above = facts([
    ['decision', decisionId],
    ['status', rawStatus],
    ['result', result ?? ''],
    ['metadata', metadataJson === '{}' ? '' : metadataJson],
  ]);
  if (labels === null || labels.length === 0) return above;
  const rows = labels.map(({ name, applied, explanation }) => [
    name,
    applied ? 'yes' : 'no',
    explanation,
  ]);
  return `${above}\n${table(['LABEL', 'APPLIES', 'EXPLANATION'], rows)}`;
}

const MAX_FACT = 2_000;

/** What is empty is left out. */
function facts(pairs: readonly (readonly [string, string])[]): string {
  const told = pairs.filter(([, text]) => text !== '');
  const width = Math.max(...told.map(([name]) => name.length)) + 3;
  return told.map(([name, text]) => `${name.padEnd(width)}${printable(text, MAX_FACT)}\n`).join('');
}
