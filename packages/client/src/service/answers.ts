/**
 * Parsers of the service's responses. They are strict about fields that the engine needs, and
 * tolerant about all others. Messages contain the name of a field, but never its value.
 */
import * as v from 'valibot';
import { CompactObject } from '../base/json/compact-object.ts';
import { isObject } from '../base/json/json-values.ts';
import { parseKeepingDigits } from '../base/json/parse-json.ts';
import { JsonScanner, OBJECT, type ScannedValue } from '../base/json/scanner.ts';
import { shownCode } from '../base/shown-text.ts';
import { parseWebAddress } from '../http/web-address.ts';
import {
  type BatchStatus,
  type DecisionStatus,
  type ImportStatus,
  normaliseBatchStatus,
  normaliseDecisionStatus,
  normaliseImportStatus,
  readApplied,
} from './contract.ts';

/** Error for a response that lacks something the API promises. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
}

export interface CreatedBatch {
  readonly batchId: string;
  /** Presigned address. Opaque and secret. */
  readonly uploadUrl: string;
}

export interface CreatedImport {
  readonly importId: string;
  /** Presigned address. Opaque and secret. */
  readonly uploadUrl: string;
}

interface StatusView<Status> {
  /** undefined if the status is unknown to this version. */
  readonly status: Status | undefined;
  /** Status in the service's spelling. */
  readonly rawStatus: string;
}

export interface BatchView extends StatusView<BatchStatus> {
  readonly batchId: string;
  readonly type: string | undefined;
  /** Presigned address. Opaque and secret. The API promises it only with SUCCESS. */
  readonly downloadUrl: string | undefined;
  /** Number of decisions by state. undefined if the service does not send it. */
  readonly counts: Readonly<
    Record<'total' | 'success' | 'pending' | 'error' | 'cancelled', number | undefined>
  >;
}

export interface ImportView extends StatusView<ImportStatus> {
  readonly importId: string;
}

export interface DecisionView extends StatusView<DecisionStatus> {
  readonly decisionId: string;
  /** Metadata as a JSON object, with all digits that the service sent. Confidential, like content. */
  readonly metadataJson: string;
  readonly result: string | null;
  /** JSON array of objects with `name`, `applied`, `explanation`, and other members that the service sent. */
  readonly labelsJson: string | null;
}

const required = v.pipe(v.string(), v.nonEmpty());
/** Schema of a status. Statuses are logged. One that does not look like a code is replaced, as it may be content. */
const status = v.pipe(
  v.string(),
  v.trim(),
  v.nonEmpty(),
  v.transform((text) => {
    return (
      shownCode(text) ?? `a status of ${text.length} characters, which does not look like a status`
    );
  }),
);
const MAX_ID_LENGTH = 1024;
export const NO_PATH_SEGMENT = `is empty, "." or "..", not well-formed, or longer than ${MAX_ID_LENGTH} characters`;
const id = v.pipe(required, v.check(isPathSegment, NO_PATH_SEGMENT));
const isAddress = (text: string) => parseWebAddress(text) !== undefined;
const address = v.pipe(required, v.check(isAddress, 'is not an http(s) address'));
const optional = v.fallback(v.optional(required), undefined);
const count = v.fallback(v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0))), undefined);

const createdBatch = v.object({ batch_id: id, upload_url: address });
const createdImport = v.object({ import_id: id, upload_url: address });
const importStatus = v.object({ import_status: status });
const batch = v.object({
  batch_status: status,
  type: v.fallback(v.optional(v.string()), undefined),
  download_url: v.pipe(
    optional,
    v.check((url) => url === undefined || isAddress(url), 'is not an http(s) address'),
  ),
  batch_count: count,
  success_count: count,
  pending_count: count,
  error_count: count,
  cancelled_count: count,
});
const decision = v.object({
  decision_status: status,
  metadata: v.nullish(v.custom<object>(isObject, 'is not a JSON object')),
});

/** @throws ProtocolViolation */
function read<T>(schema: v.GenericSchema<unknown, T>, json: unknown): T {
  if (!isObject(json)) throw new ProtocolViolation('the body is not a JSON object');
  const options = { abortEarly: true, message: 'is missing' };
  const { success, output, issues } = v.safeParse(schema, json, options);
  if (success) return output;
  const [{ type, received, message }] = issues;
  const isNoText = type === 'string' && received !== 'undefined';
  const problem = isNoText ? `is ${received.slice(0, 40)}, not text` : message;
  throw new ProtocolViolation(`${v.getDotPath(issues[0])} ${problem}`);
}

/**
 * Checks that a response is about the requested resource. If a cache or proxy mixes up responses,
 * an item must not get the results of another item.
 */
function checkId(json: unknown, field: string, expected: string): void {
  const actual = v.parse(optional, isObject(json) ? json[field] : undefined);
  if ((actual ?? expected) !== expected) {
    throw new ProtocolViolation(`${field} differs from the requested id`);
  }
}

/** @throws ProtocolViolation, like all readers in this file */
export function readCreatedBatch(json: unknown): CreatedBatch {
  const { batch_id, upload_url } = read(createdBatch, json);
  return { batchId: batch_id, uploadUrl: upload_url };
}

export function readBatch(json: unknown, batchId: string): BatchView {
  checkId(json, 'batch_id', batchId);
  const fields = read(batch, json);
  return {
    batchId,
    type: fields.type,
    status: normaliseBatchStatus(fields.batch_status),
    rawStatus: fields.batch_status,
    downloadUrl: fields.download_url,
    counts: {
      total: fields.batch_count,
      success: fields.success_count,
      pending: fields.pending_count,
      error: fields.error_count,
      cancelled: fields.cancelled_count,
    },
  };
}

export function readCreatedImport(json: unknown): CreatedImport {
  const { import_id, upload_url } = read(createdImport, importIn(json, [has('import_id')]));
  return { importId: import_id, uploadUrl: upload_url };
}

/** Reads an import. The API does not define this response: the field may be `status`, and may be one level down. */
export function readImport(json: unknown, importId: string): ImportView {
  const found = importIn(json, [has('import_status'), isKnown, has('status')]);
  checkId(json, 'import_id', importId);
  checkId(found, 'import_id', importId);
  const named = has('import_status')(found) ? 'import_status' : 'status';
  const { import_status: rawStatus } = read(
    importStatus,
    isObject(found) ? { import_status: found[named] } : found,
  );
  return { importId, status: normaliseImportStatus(rawStatus), rawStatus };
}

type ImportTest = (candidate: unknown) => boolean;

const has =
  (field: string): ImportTest =>
  (candidate) =>
    isObject(candidate) && typeof candidate[field] === 'string' && candidate[field] !== '';

/** Distinguishes an import's status, which is a documented word, from the status of an envelope (`success`). */
const isKnown: ImportTest = (candidate) =>
  isObject(candidate) && normaliseImportStatus(String(candidate.status)) !== undefined;

/** Returns the response, or the only object in it that passes a test. Earlier tests go first. */
function importIn(json: unknown, tests: readonly ImportTest[]): unknown {
  if (!isObject(json)) return json;
  const inner = Object.values(json).flatMap((value) =>
    Array.isArray(value) && value.length === 1 ? value : [value],
  );
  for (const test of tests) {
    if (test(json)) return json;
    const passing = inner.filter(test);
    if (passing.length > 0) return passing.length === 1 ? passing[0] : json;
  }
  return json;
}

const metadataScanner = new JsonScanner([['metadata']]);
const compactObject = new CompactObject();

/** Returns the metadata of a response as compact JSON. Its members keep their order. */
function metadataOf(text: string): string {
  const bytes = Buffer.from(text);
  metadataScanner.scan(bytes);
  const [{ type, start }] = metadataScanner.values as [ScannedValue];
  if (type !== OBJECT) return '{}';
  const copy = Buffer.allocUnsafe(bytes.length - start);
  return copy.toString('utf8', 0, compactObject.copy(bytes, start, copy, 0));
}

/** @param text the response body as received, from which numbers keep all their digits */
export function readDecision(json: unknown, decisionId: string, text: string): DecisionView {
  checkId(json, 'decision_id', decisionId);
  const { decision_status: rawStatus } = read(decision, json);
  const { result = null, labels } = parseKeepingDigits(text) as Record<string, unknown>;
  const labelList = labelsOf(labels);
  return {
    decisionId,
    status: normaliseDecisionStatus(rawStatus),
    rawStatus,
    metadataJson: metadataOf(text),
    // A result that is not a string (undocumented) is kept as JSON text.
    result: result === null || typeof result === 'string' ? result : JSON.stringify(result),
    labelsJson: labelList && JSON.stringify(labelList),
  };
}

/** Returns the labels of a response, except those without a name or with an unclear `applied`. */
function labelsOf(value: unknown): readonly object[] | null {
  if (value == null) return null;
  return [value].flat().flatMap((entry: unknown) => {
    const label = typeof entry === 'string' ? { name: entry } : entry;
    if (!isObject(label) || typeof label.name !== 'string') return [];
    const { name, explanation } = label;
    const applied = readApplied(label.applied);
    if (applied === undefined) return [];
    return {
      ...label,
      name,
      applied,
      explanation: typeof explanation === 'string' ? explanation : null,
    };
  });
}

/** Returns true if an id can be part of a path. Dot segments would lead to another resource. */
export function isPathSegment(id: string): boolean {
  return (
    id.length > 0 && id.length <= MAX_ID_LENGTH && id !== '.' && id !== '..' && id.isWellFormed()
  );
}
