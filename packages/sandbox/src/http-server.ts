/** HTTP server of the sandbox: finds the route, applies faults, turns errors into answers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { parseJson } from '../../client/src/base/json/parse-json.ts';
import type { FaultSource } from './faults.ts';
import {
  apiError,
  apiRefusal,
  type PlannedAnswer,
  RefusedRequest,
  type SandboxAnswer,
} from './http-answer.ts';
import { answerWithFault, send } from './http-send.ts';

/** Keys that callers may use. They may change while running; the change does not outlive the process. */
export class ApiKeys {
  #accepted: ReadonlySet<string>;

  constructor(keys: readonly string[]) {
    this.#accepted = new Set(keys);
  }

  /** Accepts these keys from now on, and no others. */
  replace(keys: readonly string[]): void {
    this.#accepted = new Set(keys);
  }

  /** @throws RefusedRequest with 401 unless the request carries one of the keys. */
  check({ headers }: IncomingMessage): void {
    const [, key] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
    if (key !== undefined && this.#accepted.has(key)) return;
    const message =
      key === undefined
        ? 'send the header Authorization: Bearer <API_KEY>'
        : 'the API key is not valid';
    throw apiRefusal(401, 'unauthorized', message, { 'www-authenticate': 'Bearer' });
  }
}

/** Longer than clients keep an idle connection, so that the client ends it. */
const KEEP_ALIVE_MS = 65_000;
/** Bodies of JSON are small: a type, a list of decisions. */
const MAX_JSON_BYTES = 2 ** 20;

/** One request on its way through the sandbox. */
export interface SandboxCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  /** Without the query; still percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Scheme and host as the caller reached the sandbox: presigned addresses point there. */
  readonly origin: string;
}

/** @throws RefusedRequest */
type SandboxHandler = (
  call: SandboxCall,
  id: string,
) => SandboxAnswer | PlannedAnswer | Promise<SandboxAnswer | PlannedAnswer>;

export interface SandboxRoute {
  /** `*`: any. */
  readonly method: string;
  readonly path: RegExp;
  /** Callers that need an API key; `remote`: those on other machines. */
  readonly key: 'all' | 'remote' | 'none';
  readonly handle: SandboxHandler;
}

/** @param path pattern of the whole path; its first group is the id in it */
export function route(
  method: string,
  path: string,
  key: SandboxRoute['key'],
  handle: SandboxHandler,
): SandboxRoute {
  return { method, path: new RegExp(`^${path}$`), key, handle };
}

interface SandboxServerParts {
  readonly apiKeys: ApiKeys;
  readonly faults: FaultSource;
  /** Aborts when the sandbox stops. */
  readonly closing: AbortSignal;
  readonly onError: (error: unknown) => void;
}

export interface SandboxServer {
  readonly server: Server;
  /** Resolves when no request is in flight. */
  idle(): Promise<unknown>;
}

export function sandboxServer(
  parts: SandboxServerParts,
  routes: readonly SandboxRoute[],
): SandboxServer {
  const inFlight = new Set<Promise<void>>();
  const options = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 };
  const server = createServer(options, (request, response) => {
    const done = serve(callOf(request, response), routes, parts)
      .catch((error: unknown) => fail(response, error, parts))
      .finally(() => inFlight.delete(done));
    inFlight.add(done);
  });
  return { server, idle: () => Promise.all(inFlight) };
}

function callOf(request: IncomingMessage, response: ServerResponse): SandboxCall {
  const { method = 'GET', url = '/', headers, socket } = request;
  const [path = '', ...query] = url.split('?');
  return {
    request,
    response,
    method,
    path,
    query: new URLSearchParams(query.join('?')),
    origin: `http://${headers.host ?? `127.0.0.1:${socket.localPort}`}`,
  };
}

async function serve(
  call: SandboxCall,
  routes: readonly SandboxRoute[],
  parts: SandboxServerParts,
): Promise<void> {
  const { method, path, request, response } = call;
  const found = routes.filter((one) => one.path.test(path));
  const [first] = found;
  if (first === undefined) throw apiRefusal(404, 'not_found', 'there is nothing at this path');
  const isRemote = !/^(::1|(::ffff:)?127\..*)$/.test(request.socket.remoteAddress ?? '');
  if (first.key === 'all' || (first.key === 'remote' && isRemote)) parts.apiKeys.check(request);
  const matching = found.find((one) => one.method === method || one.method === '*');
  if (matching === undefined) {
    const allowed = found.map((one) => one.method);
    const message = `use ${allowed.join(' or ')} here`;
    throw apiRefusal(405, 'method_not_allowed', message, { allow: allowed.join(', ') });
  }

  const answer = await matching.handle(call, decoded(matching.path.exec(path)?.[1] ?? ''));
  if ('status' in answer) return await send(response, answer);
  const fault = parts.faults.take(answer.operation, answer.type);
  await answerWithFault(answer, fault, response, parts.closing);
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    throw apiRefusal(404, 'not_found', 'there is nothing at this path');
  }
}

function fail(response: ServerResponse, error: unknown, { onError }: SandboxServerParts): void {
  // A client that is gone needs no answer, and an answer begun cannot be taken back.
  if (response.destroyed || response.headersSent) {
    response.destroy();
    return;
  }
  if (!(error instanceof RefusedRequest)) onError(error);
  const internal = 'the sandbox failed; its operator sees why';
  const answer =
    error instanceof RefusedRequest ? error.answer : apiError(500, 'internal', internal);
  send(response, answer).catch(onError);
}

/** @throws RefusedRequest with 415, 413 or 400. */
export async function readJson({ request }: SandboxCall): Promise<unknown> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    const message = 'send the body as Content-Type: application/json';
    throw apiRefusal(415, 'unsupported_media_type', message);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_JSON_BYTES) chunks.push(chunk);
  }
  if (bytes > MAX_JSON_BYTES) {
    throw apiRefusal(413, 'too_large', `the body may have ${MAX_JSON_BYTES} bytes`);
  }
  try {
    return parseJson(Buffer.concat(chunks).toString());
  } catch {
    throw apiRefusal(400, 'bad_request', 'the body is not valid JSON');
  }
}
