/**
 * Names in the Content Review Service's API: paths, columns and statuses. There are only constants
 * and types here, so that the sandbox can share this file and nothing else.
 */

/** Paths below baseUrl. Ids are escaped, because they come from outside. */
export const PATHS = {
  batches: '/v1/batches',
  batch: (batchId: string): string => `/v1/batches/${encodeURIComponent(batchId)}`,
  imports: '/v1/import',
  decision: (decisionId: string): string => `/v1/decisions/${encodeURIComponent(decisionId)}`,
} as const;

/** Content types of all calls to baseUrl, and of the two kinds of uploads. */
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
 * Returns the documented spelling of a status, ignoring case, or undefined for an unknown status.
 * Callers must tolerate unknown ones, because the service may add statuses.
 */
export const normaliseBatchStatus = (raw: string) => statusIn(raw, BATCH_STATUSES);
export const normaliseImportStatus = (raw: string) => statusIn(raw, IMPORT_STATUSES);
export const normaliseDecisionStatus = (raw: string) => statusIn(raw, DECISION_STATUSES);

function statusIn<Status extends string>(
  raw: string,
  known: readonly Status[],
): Status | undefined {
  // The service's documentation has an example of a created batch in which the first I is missing.
  const text = raw
    .trim()
    .toUpperCase()
    .replace(/^WATING_/, 'WAITING_');
  return known.find((status) => status === text);
}

/** The only required column of an upload, and the first column of the result. */
export const CONTENT_COLUMN = 'Content';

/** Columns of the result file except the result column, whose header the service chooses (RESULT_SUFFIX). */
export const RESULT_COLUMNS = {
  content: CONTENT_COLUMN,
  status: 'Status',
  expected: 'Expected result',
  labels: 'Labels',
} as const;
export const RESULT_SUFFIX = ' result';

/** Accepted spellings of `applied` in lower case. */
const APPLIED: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
]);

/**
 * Returns whether a label applies according to its member `applied`, or undefined if that is
 * unclear. A label without this member applies.
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
