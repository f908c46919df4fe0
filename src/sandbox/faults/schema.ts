/** Scripted faults, as the policy file and the control endpoint write them (docs/sandbox.md). */
import { z } from 'zod';
import { duration } from '../input/units.ts';

const UPLOADS = ['upload', 'upload_import'] as const;
const TRANSFERS = [...UPLOADS, 'download'] as const;
const API = ['create_batch', 'get_batch', 'create_import', 'get_import', 'get_decision'] as const;
const REQUESTS = [
  ...(['create_batch', 'get_batch', 'upload', 'download', 'create_import', 'get_import'] as const),
  ...(['upload_import', 'get_decision'] as const),
] as const;
const count = z.int().min(0);

const COMMON = {
  /** Only for batches, and decisions, of this content type. */
  match: z.strictObject({ type: z.string().optional() }).prefault({}),
  /** Number of matching operations it hits. */
  times: z
    .union([z.int().min(1), z.literal('always')], { error: 'a whole number from 1, or always' })
    .default(1),
  /** Number of matching operations before the first hit. */
  skip: count.default(0),
};

function fault<
  const Action extends string,
  const Operation extends string,
  Settings extends z.core.$ZodLooseShape,
>(action: Action, operations: readonly Operation[], settings: Settings) {
  return z.strictObject({
    action: z.literal(action),
    operation: z.enum(operations),
    ...COMMON,
    ...settings,
  });
}

/** Every fault of an HTTP request may also delay it. */
const LATE = { delay: duration.prefault(0) };

const faultSchemas = [
  fault('latency', REQUESTS, { delay: duration }),
  fault('answer', REQUESTS, {
    ...LATE,
    status: z.int().min(200).max(599),
    /** Sent in whole seconds, rounded up. */
    retryAfter: duration.optional(),
    headers: z.record(z.string(), z.string()).default({}),
    body: z.string().optional(),
    code: z.string().default('ScriptedFault'),
    message: z.string().default('Scripted fault.'),
  }),
  fault('reset_before', REQUESTS, LATE),
  fault('reset_after', REQUESTS, LATE),
  fault('hang', REQUESTS, LATE),
  fault('slow', TRANSFERS, { ...LATE, bytesPerSecond: z.int().min(1) }),
  fault('state', API, { ...LATE, state: z.string() }),
  fault('quote', ['get_batch'], {
    ...LATE,
    in: z.enum(['message', 'state']).default('message'),
    status: z.int().min(400).max(599).default(400),
  }),
  fault('expired_url', ['create_batch', 'get_batch', 'create_import'], LATE),
  fault('repeat_id', ['create_batch', 'create_import'], LATE),
  fault('late_event', UPLOADS, { ...LATE, by: duration }),
  fault('cut', ['download'], { ...LATE, afterBytes: count }),
  fault('short', ['download'], { ...LATE, bytes: count }),
  fault('stuck', ['review', 'ingest'], { for: duration.optional() }),
  fault('batch_error', ['review'], {}),
  fault('batch_cancelled', ['review'], {}),
  fault('import_failed', ['ingest'], {}),
  fault('rows', ['review'], {
    missing: count.default(0),
    duplicated: count.default(0),
    malformed: count.default(0),
    /** Rows of the connector whose reference has another key and timestamp. */
    forged: count.default(0),
    unknown: count.default(0),
    shuffled: z.boolean().default(false),
    /** Column that `malformed` breaks, and `forged` and `unknown` change. Default: the last of the upload. */
    refColumn: z.string().optional(),
    /** Additional columns, with one value for all rows. */
    columns: z.record(z.string(), z.string()).default({}),
    /** Headers of result columns that are left out. */
    dropped: z.array(z.string()).default([]),
    /** A row with this text in its content begins with a quote that never closes. */
    unclosed: z.string().min(1).optional(),
  }),
  fault('file', ['review'], {
    as: z.enum(['html', 'header_only', 'commas']),
    /** Length of the row of commas. */
    bytes: z
      .int()
      .min(1)
      .default(2 ** 20),
  }),
] as const;

export const FAULT_ACTIONS = faultSchemas.map((schema) => schema.shape.action.value);

const faultSchema = z.discriminatedUnion('action', faultSchemas, {
  error: `one of ${FAULT_ACTIONS.join(', ')}`,
});
export const faultList = z.array(faultSchema);

export type FaultInput = z.input<typeof faultSchema>;
export type Fault = z.output<typeof faultSchema>;
export type FaultOperation = Fault['operation'];
