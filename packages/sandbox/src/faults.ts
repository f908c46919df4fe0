/** Faults, as the policy file writes them (packages/sandbox/README.md). */
import * as v from 'valibot';
import type { Random } from '../../client/src/base/clock.ts';
import { duration, mappingOf, number, oneOf, settings, whole } from './input.ts';

const UPLOADS = ['upload', 'upload_import'] as const;
const TRANSFERS = [...UPLOADS, 'download'] as const;
const API = ['create_batch', 'get_batch', 'create_import', 'get_import', 'get_decision'] as const;
const REQUESTS = [
  ...(['create_batch', 'get_batch', 'upload', 'download', 'create_import', 'get_import'] as const),
  ...(['upload_import', 'get_decision'] as const),
] as const;
const count = whole(0);

/** Share of the operations that it hits. */
const rate = v.optional(v.pipe(number, v.minValue(0), v.maxValue(1)), 1);

function fault<
  const Action extends string,
  const Operation extends string,
  Settings extends v.ObjectEntries,
>(action: Action, operations: readonly Operation[], others: Settings) {
  const kind = { action: v.literal(action), operation: oneOf(operations) };
  return settings({ ...kind, rate, ...others });
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
    code: v.optional(v.string(), 'SandboxFault'),
    message: v.optional(v.string(), 'A fault of the sandbox.'),
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

const ACTIONS = faultSchemas.map((schema) => schema.entries.action.literal);

const faultSchema = v.variant('action', faultSchemas, `one of ${ACTIONS.join(', ')}`);
export const faultList = v.array(faultSchema);

export type FaultSetting = v.InferInput<typeof faultSchema>;
export type Fault = v.InferOutput<typeof faultSchema>;
export type FaultOperation = Fault['operation'];

/** Choice of the fault that hits an operation. */
export interface FaultSource {
  /** @param type content type of the batch or decision; undefined for imports */
  take(operation: FaultOperation, type: string | undefined): Fault | undefined;
}

/** Faults by chance: an operation is hit by at most one, and each has its own rate. */
export class FaultRates implements FaultSource {
  readonly #faults: readonly Fault[];
  readonly #random: Pick<Random, 'next'>;

  constructor(faults: readonly Fault[], random: Pick<Random, 'next'>) {
    this.#faults = faults;
    this.#random = random;
  }

  take(operation: FaultOperation): Fault | undefined {
    return this.#faults.find(
      (fault) => fault.operation === operation && this.#random.next() < fault.rate,
    );
  }
}
