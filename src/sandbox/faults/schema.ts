/** Scripted faults as the policy file and the control endpoint spell them. docs/sandbox.md has the table. */
import { z } from 'zod';
import { duration } from '../policy/units.ts';

const CREATE = ['create_batch', 'create_import'] as const;
const UPLOAD = ['upload', 'upload_import'] as const;
const TRANSFER = [...UPLOAD, 'download'] as const;
const IMPORT_API = ['create_import', 'get_import'] as const;
const apiOperation = z.enum(['create_batch', 'get_batch', ...IMPORT_API, 'get_decision']);
const httpOperation = z.enum([
  'create_batch',
  'get_batch',
  'upload',
  'download',
  ...IMPORT_API,
  'upload_import',
  'get_decision',
]);
const addressOperation = z.enum(['create_batch', 'get_batch', 'create_import']);
const workOperation = z.enum(['review', 'ingest']);
const count = z.int().min(0);

const common = {
  /** Only for batches, and decisions, of this content type. */
  match: z.strictObject({ type: z.string().optional() }).prefault({}),
  /** How many matching operations it hits. */
  times: z
    .union([z.int().min(1), z.literal('always')], { error: 'a whole number from 1, or always' })
    .default(1),
  /** How many matching operations pass before the first hit. */
  skip: count.default(0),
};
/** Every fault of an HTTP operation may also make it late. */
const http = { ...common, delay: duration.prefault(0) };

const faultSchemas = [
  z.strictObject({
    action: z.literal('latency'),
    operation: httpOperation,
    ...common,
    delay: duration,
  }),
  z.strictObject({
    action: z.literal('answer'),
    operation: httpOperation,
    ...http,
    status: z.int().min(200).max(599),
    /** Sent in whole seconds, rounded up. */
    retryAfter: duration.optional(),
    headers: z.record(z.string(), z.string()).default({}),
    body: z.string().optional(),
    code: z.string().default('ScriptedFault'),
    message: z.string().default('Scripted fault.'),
  }),
  z.strictObject({ action: z.literal('reset_before'), operation: httpOperation, ...http }),
  z.strictObject({ action: z.literal('reset_after'), operation: httpOperation, ...http }),
  z.strictObject({ action: z.literal('hang'), operation: httpOperation, ...http }),
  z.strictObject({
    action: z.literal('slow'),
    operation: z.enum(TRANSFER),
    ...http,
    bytesPerSecond: z.int().min(1),
  }),
  z.strictObject({
    action: z.literal('state'),
    operation: apiOperation,
    ...http,
    state: z.string(),
  }),
  z.strictObject({
    action: z.literal('quote'),
    operation: z.literal('get_batch'),
    ...http,
    in: z.enum(['message', 'state']).default('message'),
    status: z.int().min(400).max(599).default(400),
  }),
  z.strictObject({ action: z.literal('expired_url'), operation: addressOperation, ...http }),
  z.strictObject({ action: z.literal('repeat_id'), operation: z.enum(CREATE), ...http }),
  z.strictObject({
    action: z.literal('late_event'),
    operation: z.enum(UPLOAD),
    ...http,
    by: duration,
  }),
  z.strictObject({
    action: z.literal('cut'),
    operation: z.literal('download'),
    ...http,
    afterBytes: count,
  }),
  z.strictObject({
    action: z.literal('short'),
    operation: z.literal('download'),
    ...http,
    bytes: count,
  }),
  z.strictObject({
    action: z.literal('stuck'),
    operation: workOperation,
    ...common,
    for: duration.optional(),
  }),
  z.strictObject({ action: z.literal('batch_error'), operation: z.literal('review'), ...common }),
  z.strictObject({
    action: z.literal('batch_cancelled'),
    operation: z.literal('review'),
    ...common,
  }),
  z.strictObject({ action: z.literal('import_failed'), operation: z.literal('ingest'), ...common }),
  z.strictObject({
    action: z.literal('rows'),
    operation: z.literal('review'),
    ...common,
    missing: count.default(0),
    duplicated: count.default(0),
    malformed: count.default(0),
    unknown: count.default(0),
    shuffled: z.boolean().default(false),
    /** The column that `malformed` breaks and `unknown` renumbers; the last of the upload when not given. */
    refColumn: z.string().optional(),
    /** Additional columns, with one value for all rows. */
    columns: z.record(z.string(), z.string()).default({}),
    /** Columns of the result file that are left out, by their headers. */
    dropped: z.array(z.string()).default([]),
    /** A row with this text in its content begins with a quote that never closes. */
    unclosed: z.string().min(1).optional(),
  }),
  z.strictObject({
    action: z.literal('file'),
    operation: z.literal('review'),
    ...common,
    as: z.enum(['html', 'header_only', 'commas']),
    /** Length of the row of commas. */
    bytes: z
      .int()
      .min(1)
      .default(1024 * 1024),
  }),
] as const;

export const FAULT_ACTIONS = faultSchemas.map((schema) => schema.shape.action.value);

const faultSchema = z.discriminatedUnion('action', faultSchemas, {
  error: `one of ${FAULT_ACTIONS.join(', ')}`,
});
export const faultList = z.array(faultSchema);

export type FaultInput = z.input<typeof faultSchema>;
export type Fault = z.output<typeof faultSchema>;
export type Operation = Fault['operation'];
export type RowsFault = Extract<Fault, { action: 'rows' }>;
export type FileFault = Extract<Fault, { action: 'file' }>;
/** What a fault does to the work on one upload; stored with the batch or import, so that it outlives a restart. */
export type WorkFault = Extract<Fault, { operation: z.output<typeof workOperation> }>;

export function isWorkFault(fault: Fault | undefined): fault is WorkFault {
  return fault !== undefined && workOperation.safeParse(fault.operation).success;
}

/** True for operations of the storage, whose errors are XML. */
export function isTransfer(operation: Operation): boolean {
  return TRANSFER.some((transfer) => transfer === operation);
}
