/** Faults of the fake service for tests, in addition to the faults of the sandbox's policy. */
import type { IncomingMessage } from 'node:http';
import * as v from 'valibot';
import { parseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import { type Answer, apiError, send } from '../../../packages/sandbox/src/answers.ts';
import {
  type Exchange,
  onRequest,
  onWork,
  pause,
  type RequestFault,
  type RequestOperation,
  requestFault,
  type WorkFault,
  type WorkOperation,
  workFault,
} from '../../../packages/sandbox/src/faults.ts';
import { readBody } from '../../../packages/sandbox/src/server.ts';
import { duration } from '../../../packages/sandbox/src/settings.ts';
import { type SpoiltRows, spoilt } from './spoilt-results.ts';

type Uploads = 'upload' | 'upload_import';
type Duration = v.InferInput<typeof duration>;

/** Faults of requests. */
type Scripted =
  | { operation: Uploads | 'download'; action: 'slow'; bytesPerSecond: number }
  | { operation: 'download'; action: 'cut'; afterBytes: number }
  | { operation: 'download'; action: 'short'; bytes: number }
  /** Returns this status instead of the real one. */
  | { operation: RequestOperation; action: 'state'; state: string }
  /** Quotes rows of an upload in an error message or in the status. */
  | { operation: 'get_batch'; action: 'quote'; in: 'message' | 'state' }
  | { operation: 'create_batch' | 'get_batch' | 'create_import'; action: 'expired_url' }
  /** Repeats the response to the last create of this type. */
  | { operation: 'create_batch' | 'create_import'; action: 'repeat_id' }
  /** Delays the upload event by `by`. */
  | { operation: Uploads; action: 'late_event'; by: Duration };

export type FaultSetting =
  | v.InferInput<typeof requestFault>
  | v.InferInput<typeof workFault>
  | Scripted
  | SpoiltRows;

const MAX_BYTES = 2 ** 30;
const QUOTED_BYTES = 4_096;

/** Faults of one service, with the earlier exchanges that some faults repeat. */
export class ScriptedFaults {
  /** Content type → start of the last upload, without its header. */
  readonly #rows = new Map<string | undefined, string>();
  /** Operation and type → last response to a create. */
  readonly #created = new Map<string, Answer>();

  /** Handles an exchange without a fault. */
  usual(type: string | undefined): RequestFault {
    return async ({ operation, request, response, run }) => {
      if (operation === 'upload') {
        const body = await bodyOf(request);
        const rows = body.subarray(body.indexOf('\n') + 1, QUOTED_BYTES).toString();
        this.#rows.set(type, rows);
        return send(response, await run(body));
      }
      const answer = await run();
      if (operation.startsWith('create_')) this.#created.set(`${operation} ${type}`, answer);
      send(response, answer);
    };
  }

  ofRequest(setting: FaultSetting, type: string | undefined): RequestFault {
    const fault = setting as Scripted;
    switch (fault.action) {
      case 'slow':
        return (exchange) => slow(exchange, fault.bytesPerSecond);
      case 'cut':
        return async ({ response, run }) => {
          const { status, headers, body } = await run();
          response.writeHead(status, { ...headers, 'content-length': body.length });
          response.write(body.slice(0, fault.afterBytes));
          response.socket?.destroySoon();
        };
      case 'short':
        return changed((answer) => ({ ...answer, body: answer.body.slice(0, fault.bytes) }));
      case 'state':
        return changed((answer) => withStatus(answer, fault.state));
      case 'quote':
        return changed((answer) => {
          const rows = this.#rows.get(type) ?? '';
          const message = `batch row 1 cannot be reviewed: ${rows}`;
          return fault.in === 'message'
            ? apiError(400, 'bad_row', message)
            : withStatus(answer, rows);
        });
      case 'expired_url':
        return changed((answer) => ({
          ...answer,
          body: String(answer.body).replace(/X-Amz-Date=\w+/, 'X-Amz-Date=20200101T000000Z'),
        }));
      case 'repeat_id':
        return async ({ operation, response, run }) =>
          send(response, this.#created.get(`${operation} ${type}`) ?? (await run()));
      case 'late_event':
        return async ({ request, response, run }) => {
          const body = await bodyOf(request);
          setTimeout(() => void run(body), v.parse(duration, fault.by)).unref();
          send(response, { status: 200, headers: {}, body: '' });
        };
      default:
        return onRequest(v.parse(requestFault, setting));
    }
  }

  ofWork(setting: FaultSetting): WorkFault {
    return setting.action === 'rows' || setting.action === 'file'
      ? { action: setting.action, rewrite: (rows) => spoilt(rows, setting) }
      : onWork(v.parse(workFault, setting));
  }
}

export const isOfWork = (operation: string): operation is WorkOperation =>
  operation === 'review' || operation === 'ingest';

const changed =
  (change: (answer: Answer) => Answer): RequestFault =>
  async ({ response, run }) =>
    send(response, change(await run()));

function withStatus(answer: Answer, state: string): Answer {
  const json = parseJson(String(answer.body)) as Readonly<Record<string, unknown>>;
  const [name = ''] = Object.keys(json).filter((key) => key.endsWith('_status'));
  const unfinished = { download_url: null, result: null, labels: null };
  const others = state === 'SUCCESS' ? {} : unfinished;
  const known = Object.entries(others).filter(([key]) => key in json);
  return {
    ...answer,
    body: JSON.stringify({ ...json, [name]: state, ...Object.fromEntries(known) }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  return (await readBody(request, MAX_BYTES)) ?? Buffer.alloc(0);
}

/** Receives or sends the bytes in portions of a tenth of a second. */
async function slow(
  { operation, request, response, run }: Exchange,
  bytesPerSecond: number,
): Promise<void> {
  const portion = Math.max(1, Math.round(bytesPerSecond / 10));
  const portions = async function* (chunk: Buffer) {
    for (let from = 0; from < chunk.length; from += portion) {
      const part = chunk.subarray(from, from + portion);
      await pause((part.length / bytesPerSecond) * 1_000, response);
      yield part;
    }
  };
  if (operation === 'download') {
    const { status, headers, body } = await run();
    response.writeHead(status, { ...headers, 'content-length': body.length }).flushHeaders();
    for await (const part of portions(Buffer.from(body))) {
      if (response.destroyed) return;
      response.write(part);
    }
    response.end();
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) {
    for await (const part of portions(chunk)) chunks.push(part);
  }
  send(response, await run(Buffer.concat(chunks)));
}
