/**
 * The wire types of the Content Review Service, as service-interface.md has them: batches (2.1-2.3), imports (2.4, 2.5)
 * and decisions (2.6). Types and constants only, so that the sandbox can share this file and nothing else.
 *
 * Enumerated values are open (`string & {}`): the service may send one that this version has never heard of.
 */

/** A closed list plus whatever the service may add later; keeps the editor's completion for the known ones. */
type Open<Known extends string> = Known | (string & {});

/** Paths under base_url (section 4). Ids are escaped: they come from the outside. */
export const PATHS = {
  batches: '/v1/batches',
  batch: (batchId: string): string => `/v1/batches/${encodeURIComponent(batchId)}`,
  imports: '/v1/import',
  /** Not shown in the interface (4.4); the path that its siblings suggest. Configurable where it is used. */
  import: (importId: string): string => `/v1/import/${encodeURIComponent(importId)}`,
  decision: (decisionId: string): string => `/v1/decisions/${encodeURIComponent(decisionId)}`,
} as const;

/** Content-Type of every call to base_url (section 5) and of the two kinds of upload (4.1, 4.3). */
export const CONTENT_TYPES = {
  api: 'application/json',
  csv: 'text/csv',
  jsonl: 'application/jsonl',
} as const;

// ── Batch (2.1) ────────────────────────────────────────────────────────────────────────────────────────────────────

export const BATCH_STATUSES = [
  'WAITING_FOR_UPLOAD',
  'PENDING',
  'SUCCESS',
  'CANCELLED',
  'ERROR',
] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** The variant that the interface's own example of a create response shows (2.1). */
export const MISSPELT_WAITING_FOR_UPLOAD = 'WATING_FOR_UPLOAD';

/** The known status that a text spells, in any case and with blanks around it. */
function statusIn<Status extends string>(
  raw: string,
  known: readonly Status[],
): Status | undefined {
  const text = raw.trim().toUpperCase();
  return known.find(
    (status) => status === (text === MISSPELT_WAITING_FOR_UPLOAD ? 'WAITING_FOR_UPLOAD' : text),
  );
}

/**
 * The documented spelling of a batch status (2.1), whatever its case; undefined for a value this version does not know, which
 * the caller must tolerate.
 */
export const normaliseBatchStatus = (raw: string): BatchStatus | undefined =>
  statusIn(raw, BATCH_STATUSES);

/** Body of POST /v1/batches (4.1). */
export interface CreateBatchRequest {
  /** The type of content to review. Allowed values: not shown. */
  readonly type: string;
}

/** Answer to POST /v1/batches (4.1): no counts. */
export interface CreateBatchResponse {
  readonly batch_id: string;
  readonly batch_status: Open<BatchStatus | typeof MISSPELT_WAITING_FOR_UPLOAD>;
  /** Presigned, opaque and secret; valid for an hour. */
  readonly upload_url: string;
  readonly download_url: null;
  readonly type?: string;
}

/** Number of decisions in each state (2.1), all integers. */
export interface BatchCounts {
  readonly batch_count: number;
  readonly success_count: number;
  readonly pending_count: number;
  readonly error_count: number;
  readonly cancelled_count: number;
}

/** Answer to GET /v1/batches/{batch_id} (4.2). */
export interface GetBatchResponse extends BatchCounts {
  readonly batch_id: string;
  readonly type: string;
  readonly batch_status: Open<BatchStatus | typeof MISSPELT_WAITING_FOR_UPLOAD>;
  readonly upload_url: null;
  /** Presigned, opaque and secret; only while batch_status is SUCCESS, null otherwise. */
  readonly download_url: string | null;
}

// ── Batch files (2.2, 2.3) ─────────────────────────────────────────────────────────────────────────────────────────

/** The one required column of an upload (2.2), and the first of the result (2.3). */
export const CONTENT_COLUMN = 'Content';

/** Columns of the result file (2.3). The result's own column ends in RESULT_SUFFIX after the service's name. */
export const RESULT_COLUMNS = {
  content: CONTENT_COLUMN,
  status: 'Status',
  expected: 'Expected result',
  labels: 'Labels',
} as const;
export const RESULT_SUFFIX = ' result';

/** Values of the Status column (2.3). */
export type ResultRowStatus = Open<'SUCCESS' | 'ERROR'>;

// ── Import (2.4, 2.5) ──────────────────────────────────────────────────────────────────────────────────────────────

export const IMPORT_STATUSES = ['WAITING_FOR_UPLOAD', 'IN_PROGRESS', 'COMPLETE', 'FAILED'] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

/** The documented spelling of an import status (2.4), with the same tolerance as for batches. */
export const normaliseImportStatus = (raw: string): ImportStatus | undefined =>
  statusIn(raw, IMPORT_STATUSES);

/** Answer to POST /v1/import (4.3), which has no request body. */
export interface CreateImportResponse {
  readonly import_id: string;
  readonly import_status: Open<ImportStatus>;
  /** Presigned, opaque and secret; valid for an hour. */
  readonly upload_url: string;
}

/** Answer to the status check of an import. Not shown (4.4): only the fields of 2.4 that make sense are leaned on. */
export interface GetImportResponse {
  readonly import_id: string;
  readonly import_status: Open<ImportStatus>;
}

/** One line of an import file (2.5): exactly these two fields. */
export interface ImportRecord {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

// ── Decision (2.6) ─────────────────────────────────────────────────────────────────────────────────────────────────

export const DECISION_STATUSES = ['SUCCESS', 'PENDING', 'ERROR'] as const;
export type DecisionStatus = (typeof DECISION_STATUSES)[number];

/** The documented spelling of a decision status (2.6), with the same tolerance. */
export const normaliseDecisionStatus = (raw: string): DecisionStatus | undefined =>
  statusIn(raw, DECISION_STATUSES);

export interface Label {
  readonly name: string;
  /** Whether the label applies to the content. */
  readonly applied: boolean;
  readonly explanation: string;
}

/** Answer to GET /v1/decisions/{decision_id} (4.5). */
export interface GetDecisionResponse {
  readonly decision_id: string;
  readonly decision_status: Open<DecisionStatus>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly result: string | null;
  readonly labels: readonly Label[] | null;
}
