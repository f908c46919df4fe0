/** Faults of the sandbox: in exchanges with a client, and in the work on an upload. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import * as v from 'valibot';
import { type Answer, apiError, send, storageError } from './answers.ts';
import { duration, share } from './settings.ts';

const REQUEST_OPERATIONS = [
  ...(['create_batch', 'get_batch', 'upload', 'download'] as const),
  ...(['create_import', 'get_import', 'upload_import', 'get_decision'] as const),
] as const;
export type RequestOperation = (typeof REQUEST_OPERATIONS)[number];
/** Operations of the service on an uploaded file. */
export type WorkOperation = 'review' | 'ingest';

/** Accepted request whose effect is still to come. */
export interface Exchange {
  readonly operation: RequestOperation;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Executes the effect. @param body of an upload, if it was already read */
  run(body?: Buffer): Promise<Answer>;
}

/** Responds to an exchange in another way, or not at all. */
export type RequestFault = (exchange: Exchange) => Promise<void>;

export interface WorkFault {
  /** Name of the fault, shown with the work at `/sandbox/`. */
  readonly action: string;
  /** Additional duration of the work, ms; Infinity: it never ends. */
  readonly longerMs?: number;
  /** Final status, instead of the correct one. */
  readonly ends?: string;
  /** Returns another result file. @param rows of the correct file, header first */
  readonly rewrite?: (rows: readonly (readonly string[])[]) => string;
}

/** Choice of the fault for an operation. */
export interface Faults {
  /** @param type content type of the batch or decision; undefined for imports */
  ofRequest(operation: RequestOperation, type: string | undefined): RequestFault | undefined;
  ofWork(operation: WorkOperation, type: string | undefined): WorkFault | undefined;
}

/** Share of the operations that the fault hits. */
const rate = v.optional(share, 1);
const operation = v.picklist(REQUEST_OPERATIONS);

export const requestFault = v.variant('action', [
  v.strictObject({ action: v.literal('latency'), operation, rate, delay: duration }),
  v.strictObject({
    ...{ action: v.literal('answer'), operation, rate },
    status: v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(599)),
    code: v.optional(v.string(), 'SandboxFault'),
    /** Sent in whole seconds, rounded up. */
    retryAfter: v.optional(duration),
    body: v.optional(v.string()),
  }),
  v.strictObject({ action: v.picklist(['reset_before', 'reset_after', 'hang']), operation, rate }),
]);
export const workFault = v.variant('action', [
  v.strictObject({
    ...{ action: v.literal('stuck'), operation: v.picklist(['review', 'ingest']), rate },
    /** Default: permanently. */
    for: v.optional(duration),
  }),
  v.strictObject({
    action: v.picklist(['batch_error', 'batch_cancelled']),
    ...{ operation: v.literal('review'), rate },
  }),
  v.strictObject({
    action: v.literal('import_failed'),
    ...{ operation: v.literal('ingest'), rate },
  }),
]);

type RequestSetting = v.InferOutput<typeof requestFault>;
type WorkSetting = v.InferOutput<typeof workFault>;

/** Returns the faults of a policy file. At most one hits an operation; each has its own rate. */
export function faultRates(
  settings: readonly (RequestSetting | WorkSetting)[],
  random: () => number,
): Faults {
  const take = (wanted: string) =>
    settings.find((one) => one.operation === wanted && random() < one.rate);
  return {
    ofRequest(wanted) {
      const setting = take(wanted);
      return setting && onRequest(setting as RequestSetting);
    },
    ofWork(wanted) {
      const setting = take(wanted);
      return setting && onWork(setting as WorkSetting);
    },
  };
}

export function onRequest(setting: RequestSetting): RequestFault {
  return async ({ response, run }) => {
    switch (setting.action) {
      case 'latency':
        await pause(setting.delay, response);
        return send(response, await run());
      case 'answer':
        return send(response, givenAnswer(setting));
      case 'hang':
        // Holds the request until the client gives up or the sandbox stops.
        if (!response.destroyed) await once(response, 'close');
        return;
      case 'reset_after':
        await run();
    }
    response.req.socket.resetAndDestroy();
  };
}

function givenAnswer({
  operation,
  status,
  code,
  retryAfter,
  body,
}: Extract<RequestSetting, { action: 'answer' }>): Answer {
  const errorOf = /load/.test(operation) ? storageError : apiError;
  const answer = errorOf(status, code, 'A fault of the sandbox.', {
    ...(retryAfter !== undefined && { 'retry-after': String(Math.ceil(retryAfter / 1_000)) }),
  });
  return { ...answer, body: body ?? answer.body };
}

const ENDS = { batch_error: 'ERROR', batch_cancelled: 'CANCELLED', import_failed: 'FAILED' };

export function onWork(setting: WorkSetting): WorkFault {
  const { action } = setting;
  return action === 'stuck'
    ? { action, longerMs: setting.for ?? Infinity }
    : { action, ends: ENDS[action] };
}

/** Resolves after `ms`, or when the client disconnects. */
export async function pause(ms: number, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.destroyed) gone.abort();
  await setTimeout(ms, undefined, { signal: gone.signal }).catch(() => {});
}
