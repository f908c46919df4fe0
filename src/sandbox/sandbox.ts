/** A reference Content Review Service in this process (DESIGN 7). docs/sandbox.md describes it for users. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SandboxClock, systemClock } from './clock.ts';
import { type BatchSummary, summaryOf } from './control-routes.ts';
import type { MadeDecision } from './decisions/made-decisions.ts';
import { FaultScript } from './faults/script.ts';
import { ApiKeys } from './http/bearer.ts';
import { sandboxServer } from './http/server.ts';
import { type ImportSummary, importSummaryOf } from './imports/import-summary.ts';
import { sandboxParts } from './parts.ts';
import { type PolicyInput, parsePolicy } from './policy/schema.ts';

export interface SandboxOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Keeps everything over restarts. Default: a temporary directory, removed by `stop`. One sandbox at a time. */
  readonly dataDir?: string;
  /** As written in a policy file (see readPolicyFile). Default: everything is approved at once. */
  readonly policy?: PolicyInput;
  /** Keys that callers may use; at least one. */
  readonly apiKeys: readonly string[];
  readonly clock?: SandboxClock;
  /** Told of failures of the sandbox itself. Default: a process warning. */
  readonly onError?: (error: unknown) => void;
}

export interface Sandbox {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly port: number;
  /** The fault script, to be read and changed while running. It does not outlive the process. */
  readonly faults: FaultScript;
  /** The keys in force, to be changed while running. */
  readonly apiKeys: ApiKeys;
  /** What GET /sandbox/batches lists. */
  batches(): BatchSummary[];
  /** What GET /sandbox/imports lists. */
  imports(): ImportSummary[];
  /** What POST /sandbox/decisions does; returns the ids. @throws InvalidSandboxInput */
  makeDecisions(list: readonly MadeDecision[]): string[];
  /** Cuts every connection and frees everything. Repeatable. */
  stop(): Promise<void>;
}

/**
 * Starts the sandbox and takes up unfinished batches and imports of an earlier process.
 * @throws InvalidSandboxInput for a wrong policy; Error for no API key, a port or a data directory in use.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { host = '127.0.0.1', clock = systemClock, onError = warn } = options;
  const policy = parsePolicy(options.policy);
  if (options.apiKeys.length === 0)
    throw new Error('the sandbox needs at least one API key for its callers');
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'content-review-sandbox-'));
  const removeData = () => {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  mkdirSync(dataDir, { recursive: true });

  const faults = new FaultScript(policy.faults);
  const apiKeys = new ApiKeys(options.apiKeys);
  const closing = new AbortController();
  const around = { clock, closing: closing.signal };
  const parts = sandboxParts({ ...around, dataDir, policy, faults, apiKeys, onError });
  let baseUrl = '';
  const fallbackOrigin = () => baseUrl;
  const { server, idle } = sandboxServer({
    ...around,
    routes: parts.routes,
    faults,
    fallbackOrigin,
    onError,
  });
  const free = async () => {
    closing.abort();
    await idle();
    await parts.close();
    removeData();
  };

  const port = await listen(server, host, options.port ?? 0).catch(async (error: unknown) => {
    await free();
    throw error;
  });
  baseUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  parts.resume();

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    await free();
  };
  return {
    baseUrl,
    port,
    faults,
    apiKeys,
    batches: () => parts.batches.all().map(summaryOf),
    makeDecisions: (list) => parts.makeDecisions(list),
    imports: () => parts.imports.all().map(importSummaryOf),
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `the sandbox cannot listen on ${host}:${port} (${reason}); choose another --port, or 0 for a free one`,
      {
        cause,
      },
    );
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
