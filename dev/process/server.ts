/** Start of a server process on free ports. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Kept } from './kept.ts';

/** Maximum time in ms for a start or restart: ten times what a busy two-core machine needs. */
export const START_MS = 120_000;
/** Maximum number of attempts to choose ports, since another process may take one before the server does. */
const PORT_CHOICES = 5;
/** Number of log lines to show if a server does not start. */
const LOG_TAIL = 25;

/** Error for a port of the server that another process uses. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

/**
 * Starts a server. If another process uses a port, retries with other ports.
 * @param fixed true if the caller chose the ports
 */
export async function startOnPorts<Server extends { stop(): Promise<void> }>(
  create: () => Promise<Server>,
  start: (server: Server) => Promise<void>,
  fixed: boolean,
): Promise<Server> {
  for (let choice = 1; ; choice++) {
    const server = await create();
    try {
      await start(server);
      return server;
    } catch (error) {
      await server.stop();
      if (!(error instanceof PortTaken) || fixed || choice === PORT_CHOICES) throw error;
    }
  }
}

/** Describes why a server did not start, with the end of its log. */
export async function startFailure(
  what: string,
  exit: Kept['exit'],
  logFile: string,
  cause?: unknown,
): Promise<Error> {
  const log = await readFile(logFile, 'utf8').catch(() => '');
  if (exit !== undefined && /already in use|seems to be in use|failed to bind/i.test(log))
    return new PortTaken(`a port of ${what} is in use: choose another port, or none`);
  const how =
    exit === undefined
      ? `is not ready after ${START_MS / 1_000} s (${cause instanceof Error ? cause.message : 'no answer'})`
      : `ended with ${exit.signal ?? `code ${exit.code}`}`;
  const tail = log.trimEnd().split('\n').slice(-LOG_TAIL).join('\n');
  return new Error(`${what} ${how}. The end of its log:\n${tail === '' ? '(empty)' : tail}`, {
    cause,
  });
}

/** Waits for a signal that ends this process, and keeps the process running until then. */
export async function untilInterrupted(): Promise<undefined> {
  const idle = setInterval(() => undefined, 60_000);
  await Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
  clearInterval(idle);
}
