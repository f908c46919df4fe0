/**
 * Names of the Content Review Service's interface: paths, columns and statuses. Constants and types
 * only, so that the sandbox can share this file and nothing else.
 */

/** Paths under baseUrl. Ids are escaped, because they come from outside. */
export const PATHS = {
  batches: '/v1/batches',
  batch: (batchId: string): string => `/v1/batches/${encodeURIComponent(batchId)}`,
  imports: '/v1/import',
  decision: (decisionId: string): string => `/v1/decisions/${encodeURIComponent(decisionId)}`,
} as const;

/** Content-Types of all calls to baseUrl, and of the two kinds of upload. */
export const CONTENT_TYPES = {
  api: 'application/json',
  csv: 'text/csv',
  jsonl: 'application/jsonl',
} as const;

const BATCH_STATUSES = ['WAITING_FOR_UPLOAD', 'PENDING', 'SUCCESS', 'CANCELLED', 'ERROR'] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

const IMPORT_STATUSES = ['WAITING_FOR_UPLOAD', 'IN_PROGRESS', 'COMPLETE', 'FAILED'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

const DECISION_STATUSES = ['SUCCESS', 'PENDING', 'ERROR'] as const;
export type DecisionStatus = (typeof DECISION_STATUSES)[number];

/**
 * Returns the documented spelling of a status in any case; undefined for an unknown one, which the
 * caller must tolerate, because the service may add statuses.
 */
export const normaliseBatchStatus = (raw: string) => statusIn(raw, BATCH_STATUSES);
export const normaliseImportStatus = (raw: string) => statusIn(raw, IMPORT_STATUSES);
export const normaliseDecisionStatus = (raw: string) => statusIn(raw, DECISION_STATUSES);

function statusIn<Status extends string>(
  raw: string,
  known: readonly Status[],
): Status | undefined {
  // In the documentation's own example of a created batch, the status lacks the I.
  const text = raw
    .trim()
    .toUpperCase()
    .replace(/^WATING_/, 'WAITING_');
  return known.find((status) => status === text);
}

/** The only required column of an upload, and the first column of the result. */
export const CONTENT_COLUMN = 'Content';

/** Columns of the result file. The column of the result itself is the service's name and RESULT_SUFFIX. */
export const RESULT_COLUMNS = {
  content: CONTENT_COLUMN,
  status: 'Status',
  expected: 'Expected result',
  labels: 'Labels',
} as const;
export const RESULT_SUFFIX = ' result';

/** Accepted values of `applied` other than true and false, in lower case. */
const APPLIED: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
]);

/**
 * Returns whether a label applies, from its member `applied`; undefined if that is unclear. A label
 * without the member was assigned.
 */
export function readApplied(value: unknown): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value ?? true;
  return typeof value === 'string' || typeof value === 'number'
    ? APPLIED.get(String(value).trim().toLowerCase())
    : undefined;
}

/** Label of a decision. */
export interface Label {
  readonly name: string;
  /** True if the label applies to the content. */
  readonly applied: boolean;
  readonly explanation: string;
}
