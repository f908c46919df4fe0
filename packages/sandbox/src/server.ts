/** HTTP of the sandbox: routes, API keys, bodies in memory, and error responses. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tryParseJson } from '../../client/src/base/json/parse-json.ts';
import { type Answer, apiError, RefusedRequest, send } from './answers.ts';
import type { Exchange, Faults, RequestOperation } from './faults.ts';

/** Accepted API keys. They may be changed while the sandbox runs. */
export class ApiKeys {
  #accepted: ReadonlySet<string>;

  constructor(keys: readonly string[]) {
    this.#accepted = new Set(keys);
  }

  /** Replaces the accepted keys. */
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
    throw new RefusedRequest(
      apiError(401, 'unauthorized', message, { 'www-authenticate': 'Bearer' }),
    );
  }
}

/** Request that the sandbox is handling. */
export interface Call {
  readonly request: IncomingMessage;
  /** Path without the query, still percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Scheme and host at which the caller reached the sandbox, used for presigned addresses. */
  readonly origin: string;
}

/** Request that passed all checks and whose effect is still to come. Faults are applied around `run`. */
export interface Plan {
  readonly operation: RequestOperation;
  /** Content type of the batch or decision; undefined for imports. */
  readonly type: string | undefined;
  /** @param body already read; default: the body of the request */
  run(body?: Buffer): Promise<Answer>;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: RegExp;
  /** Callers that need an API key. `remote` means callers on other machines. */
  readonly key: 'all' | 'remote' | 'none';
  /** @throws RefusedRequest */
  readonly handle: (call: Call, id: string) => Answer | Plan | Promise<Answer | Plan>;
}

/** @param path pattern of the whole path, whose first group is the id */
export function route(
  method: Route['method'],
  path: string,
  key: Route['key'],
  handle: Route['handle'],
): Route {
  return { method, path: new RegExp(`^${path}$`), key, handle };
}

interface ServerParts {
  readonly apiKeys: ApiKeys;
  readonly faults: Faults;
  readonly onError: (error: unknown) => void;
}

/** Longer than clients keep idle connections, so that the client closes first. */
const KEEP_ALIVE_MS = 65_000;
/** Maximum size of a JSON body, which is a type or a list of decisions. */
const MAX_JSON_BYTES = 2 ** 20;

export function sandboxServer(parts: ServerParts, routes: readonly Route[]): Server {
  const options = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 };
  return createServer(options, (request, response) => {
    serve(request, response, routes, parts).catch((error: unknown) => {
      // A disconnected client needs no response, and a response that has begun cannot be changed.
      if (response.destroyed || response.headersSent) return response.destroy();
      if (error instanceof RefusedRequest) return send(response, error.answer);
      parts.onError(error);
      send(response, apiError(500, 'internal', 'the sandbox failed; see its log for the reason'));
    });
  });
}

const nothing = () =>
  new RefusedRequest(apiError(404, 'not_found', 'there is nothing at this path'));

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  routes: readonly Route[],
  { apiKeys, faults }: ServerParts,
): Promise<void> {
  const { method, url = '/', headers, socket } = request;
  const [path = '', ...rest] = url.split('?');
  const query = new URLSearchParams(rest.join('?'));
  const origin = `http://${headers.host ?? `127.0.0.1:${socket.localPort}`}`;
  const found = routes.find((one) => one.method === method && one.path.test(path));
  if (found === undefined) throw nothing();
  const isRemote = !/^(::1|(::ffff:)?127\..*)$/.test(socket.remoteAddress ?? '');
  if (found.key === 'all' || (found.key === 'remote' && isRemote)) apiKeys.check(request);

  const id = decoded(found.path.exec(path)?.[1] ?? '');
  const handled = await found.handle({ request, path, query, origin }, id);
  if ('status' in handled) return send(response, handled);
  const { operation, type } = handled;
  const fault = faults.ofRequest(operation, type);
  const exchange: Exchange = { operation, request, response, run: (body) => handled.run(body) };
  if (fault === undefined) send(response, await handled.run());
  else await fault(exchange);
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    throw nothing();
  }
}

/** @throws RefusedRequest with 415, 413 or 400. */
export async function readJson({ request }: Call): Promise<unknown> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    const message = 'send the body as Content-Type: application/json';
    throw new RefusedRequest(apiError(415, 'unsupported_media_type', message));
  }
  const body = await readBody(request, MAX_JSON_BYTES);
  if (body === undefined) {
    const message = `the body may have at most ${MAX_JSON_BYTES} bytes`;
    throw new RefusedRequest(apiError(413, 'too_large', message));
  }
  const json = tryParseJson(body.toString());
  if (json !== undefined) return json;
  throw new RefusedRequest(apiError(400, 'bad_request', 'the body is not valid JSON'));
}

/** Reads a body to its end. Returns undefined if it is too long. */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  return bytes <= maxBytes ? Buffer.concat(chunks) : undefined;
}
