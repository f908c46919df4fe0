/** The HTTP server: finds the route, lets faults strike, turns failures into answers. */
import { createServer, type Server } from 'node:http';
import type { FaultScript } from '../faults/script.ts';
import { carryOut } from '../faults/strike.ts';
import { type Answer, apiError, type Plan, Refusal } from './answer.ts';
import { type Exchange, exchangeOf, type RouteGroup } from './exchange.ts';
import { type Surroundings, send } from './send.ts';

/** Longer than clients keep an idle connection, so that it is they who end it. */
const KEEP_ALIVE_MS = 65_000;

export interface ServerParts extends Surroundings {
  readonly routes: readonly RouteGroup[];
  readonly faults: FaultScript;
  /** For requests without a Host header. */
  readonly fallbackOrigin: () => string;
  readonly onError: (error: unknown) => void;
}

export interface SandboxServer {
  readonly server: Server;
  /** Resolves when no request is being handled any more. */
  idle(): Promise<unknown>;
}

export function sandboxServer(parts: ServerParts): SandboxServer {
  const handled = new Set<Promise<void>>();
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 },
    (request, response) => {
      const exchange = exchangeOf(request, response, parts.fallbackOrigin());
      const done = serve(exchange, parts)
        .catch((error: unknown) => fail(exchange, error, parts))
        .finally(() => handled.delete(done));
      handled.add(done);
    },
  );
  return { server, idle: () => Promise.all(handled) };
}

async function serve(exchange: Exchange, parts: ServerParts): Promise<void> {
  const { path, response } = exchange;
  const route = parts.routes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
  if (route === undefined)
    throw new Refusal(apiError(404, 'not_found', 'there is nothing at this path'));
  const outcome = await route.handle(exchange);
  if (isAnswer(outcome)) return send(response, outcome, {}, parts);
  return carryOut(outcome, parts.faults.take(outcome.operation, outcome.type), exchange, parts);
}

function isAnswer(outcome: Plan | Answer): outcome is Answer {
  return 'status' in outcome;
}

function fail({ response }: Exchange, error: unknown, parts: ServerParts): void {
  // A client that is gone needs no answer, and an answer begun cannot be taken back.
  const isGone = response.destroyed || response.headersSent;
  if (!(error instanceof Refusal) && !isGone) parts.onError(error);
  if (isGone) {
    response.destroy();
    return;
  }
  const answer =
    error instanceof Refusal
      ? error.answer
      : apiError(500, 'internal', 'the sandbox failed; its operator sees why');
  send(response, answer, {}, parts).catch(parts.onError);
}
