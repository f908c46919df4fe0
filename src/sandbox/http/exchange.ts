/** One request on its way through the sandbox. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Answer, apiError, type Plan, Refusal } from './answer.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  /** Without the query; still percent-encoded. */
  readonly path: string;
  /** Without its question mark. */
  readonly rawQuery: string;
  /** Scheme and host as the caller reached the sandbox: presigned addresses point there. */
  readonly origin: string;
}

/** Everything under one path prefix. @throws Refusal */
export interface RouteGroup {
  readonly prefix: string;
  handle(exchange: Exchange): Promise<Plan | Answer>;
}

export function exchangeOf(
  request: IncomingMessage,
  response: ServerResponse,
  fallbackOrigin: string,
): Exchange {
  const url = request.url ?? '/';
  const mark = url.indexOf('?');
  return {
    request,
    response,
    method: request.method ?? 'GET',
    path: mark < 0 ? url : url.slice(0, mark),
    rawQuery: mark < 0 ? '' : url.slice(mark + 1),
    origin: request.headers.host === undefined ? fallbackOrigin : `http://${request.headers.host}`,
  };
}

/** @throws Refusal with 405 unless the method is among these. */
export function requireMethod({ method }: Exchange, ...allowed: readonly string[]): void {
  if (allowed.includes(method)) return;
  const message = `use ${allowed.join(' or ')} here`;
  throw new Refusal(apiError(405, 'method_not_allowed', message, { allow: allowed.join(', ') }));
}

/** A body of JSON is small: a type, a list of faults. */
const MAX_JSON_BYTES = 2 ** 20;

/** @throws Refusal with 415, 413 or 400. */
export async function readJson({ request }: Exchange): Promise<unknown> {
  const contentType = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(contentType)) {
    throw new Refusal(
      apiError(415, 'unsupported_media_type', 'send the body as Content-Type: application/json'),
    );
  }
  const { bytes, body } = await readBody(request, MAX_JSON_BYTES);
  if (bytes > MAX_JSON_BYTES)
    throw new Refusal(apiError(413, 'too_large', `the body may have ${MAX_JSON_BYTES} bytes`));
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new Refusal(apiError(400, 'bad_request', 'the body is not valid JSON'));
  }
}

/** @throws Refusal with 400 when there is a body. */
export async function requireEmptyBody({ request }: Exchange): Promise<void> {
  const { bytes } = await readBody(request, 0);
  if (bytes > 0) throw new Refusal(apiError(400, 'bad_request', 'send no body here'));
}

/** Reads to the end, as leaving it would end the connection before the answer, and keeps no more than `limit` bytes. */
async function readBody(
  request: IncomingMessage,
  limit: number,
): Promise<{ readonly bytes: number; readonly body: Buffer }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= limit) chunks.push(chunk);
  }
  return { bytes, body: Buffer.concat(chunks) };
}
