/** Scripted faults, as the policy file and the control endpoint write them (packages/sandbox/README.md). */
import * as v from 'valibot';
import { mappingOf, oneOf, section, settings, whole } from '../input/settings.ts';
import { duration } from '../input/units.ts';

const UPLOADS = ['upload', 'upload_import'] as const;
const TRANSFERS = [...UPLOADS, 'download'] as const;
const API = ['create_batch', 'get_batch', 'create_import', 'get_import', 'get_decision'] as const;
const REQUESTS = [
  ...(['create_batch', 'get_batch', 'upload', 'download', 'create_import', 'get_import'] as const),
  ...(['upload_import', 'get_decision'] as const),
] as const;
const count = whole(0);
const times = v.union([whole(1), v.literal('always')], 'a whole number from 1, or always');

const COMMON = {
  /** Only for batches, and decisions, of this content type. */
  match: section({ type: v.optional(v.string()) }),
  /** Number of matching operations it hits. */
  times: v.optional(times, 1),
  /** Number of matching operations before the first hit. */
  skip: v.optional(count, 0),
};

function fault<
  const Action extends string,
  const Operation extends string,
  Settings extends v.ObjectEntries,
>(action: Action, operations: readonly Operation[], others: Settings) {
  const kind = { action: v.literal(action), operation: oneOf(operations) };
  return settings({ ...kind, ...COMMON, ...others });
}

/** Every fault of an HTTP request may also delay it. */
const LATE = { delay: v.optional(duration, 0) };

const faultSchemas = [
  fault('latency', REQUESTS, { delay: duration }),
  fault('answer', REQUESTS, {
    ...LATE,
    status: whole(200, 599),
    /** Sent in whole seconds, rounded up. */
    retryAfter: v.optional(duration),
    headers: v.optional(mappingOf(v.string()), {}),
    body: v.optional(v.string()),
    code: v.optional(v.string(), 'ScriptedFault'),
    message: v.optional(v.string(), 'Scripted fault.'),
  }),
  fault('reset_before', REQUESTS, LATE),
  fault('reset_after', REQUESTS, LATE),
  fault('hang', REQUESTS, LATE),
  fault('slow', TRANSFERS, { ...LATE, bytesPerSecond: whole(1) }),
  fault('state', API, { ...LATE, state: v.string() }),
  fault('quote', ['get_batch'], {
    ...LATE,
    in: v.optional(oneOf(['message', 'state']), 'message'),
    status: v.optional(whole(400, 599), 400),
  }),
  fault('expired_url', ['create_batch', 'get_batch', 'create_import'], LATE),
  fault('repeat_id', ['create_batch', 'create_import'], LATE),
  fault('late_event', UPLOADS, { ...LATE, by: duration }),
  fault('cut', ['download'], { ...LATE, afterBytes: count }),
  fault('short', ['download'], { ...LATE, bytes: count }),
  fault('stuck', ['review', 'ingest'], { for: v.optional(duration) }),
  fault('batch_error', ['review'], {}),
  fault('batch_cancelled', ['review'], {}),
  fault('import_failed', ['ingest'], {}),
  fault('rows', ['review'], {
    missing: v.optional(count, 0),
    duplicated: v.optional(count, 0),
    malformed: v.optional(count, 0),
    /** Rows of the connector whose reference has another key and timestamp. */
    forged: v.optional(count, 0),
    unknown: v.optional(count, 0),
    shuffled: v.optional(v.boolean(), false),
    /** Column that `malformed` breaks, and `forged` and `unknown` change. Default: the last of the upload. */
    refColumn: v.optional(v.string()),
    /** Additional columns, with one value for all rows. */
    columns: v.optional(mappingOf(v.string()), {}),
    /** Headers of result columns that are left out. */
    dropped: v.optional(v.array(v.string()), []),
    /** A row with this text in its content begins with a quote that never closes. */
    unclosed: v.optional(v.pipe(v.string(), v.minLength(1))),
  }),
  fault('file', ['review'], {
    as: oneOf(['html', 'header_only', 'commas']),
    /** Length of the row of commas. */
    bytes: v.optional(whole(1), 2 ** 20),
  }),
] as const;

export const FAULT_ACTIONS = faultSchemas.map((schema) => schema.entries.action.literal);

const faultSchema = v.variant('action', faultSchemas, `one of ${FAULT_ACTIONS.join(', ')}`);
export const faultList = v.array(faultSchema);

export type FaultInput = v.InferInput<typeof faultSchema>;
export type Fault = v.InferOutput<typeof faultSchema>;
export type FaultOperation = Fault['operation'];
