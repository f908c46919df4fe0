/** Reference Content Review Service in this process. packages/sandbox/README.md describes it for users. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, systemRandom } from '../../client/src/base/clock.ts';
import { apiRoutes } from './api-routes.ts';
import { type SandboxClock, STORAGE_FOLDERS, Works } from './batches-and-imports.ts';
import {
  type BatchSummary,
  batchSummary,
  controlRoutes,
  type ImportSummary,
  importSummary,
} from './control-routes.ts';
import { Decisions, type MadeDecision } from './decisions.ts';
import { Documents } from './documents.ts';
import { FaultRates, type FaultSource } from './faults.ts';
import { ApiKeys, type SandboxRoute, sandboxServer } from './http-server.ts';
import { ObjectStore } from './object-store.ts';
import { type PolicyInput, parsePolicy } from './policy.ts';
import { storageRoutes } from './storage-routes.ts';

export interface SandboxOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /**
   * Keeps everything over restarts. Default: a temporary directory, removed by `stop`. One sandbox
   * at a time.
   */
  readonly dataDir?: string;
  /** As written in a policy file (see readPolicyFile). Default: everything is approved at once. */
  readonly policy?: PolicyInput;
  /** Keys that callers may use; at least one. */
  readonly apiKeys: readonly string[];
  /** Default: by the rates of the policy. */
  readonly faults?: FaultSource;
  /** Routes in addition to the sandbox's own. */
  readonly routes?: readonly SandboxRoute[];
  readonly clock?: SandboxClock;
  /** Receives failures of the sandbox itself. Default: a process warning. */
  readonly onError?: (error: unknown) => void;
}

export interface Sandbox {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly port: number;
  /** Keys in force, to be changed while running. */
  readonly apiKeys: ApiKeys;
  /** The list of GET /sandbox/batches. */
  batches(): BatchSummary[];
  /** The list of GET /sandbox/imports. */
  imports(): ImportSummary[];
  /** POST /sandbox/decisions; returns the ids. @throws InvalidSandboxInput */
  makeDecisions(list: readonly MadeDecision[]): string[];
  /** Cuts every connection and frees everything. Repeatable. */
  stop(): Promise<void>;
}

/**
 * Starts the sandbox and resumes unfinished batches and imports of an earlier process.
 * @throws InvalidSandboxInput for a wrong policy; Error for no API key, a port or a data directory
 * in use.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { host = '127.0.0.1', clock = systemClock, onError = warn } = options;
  const policy = parsePolicy(options.policy);
  if (options.apiKeys.length === 0) {
    throw new Error('the sandbox needs at least one API key for its callers');
  }
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'content-review-sandbox-'));
  mkdirSync(dataDir, { recursive: true });

  const documents = new Documents(join(dataDir, 'sandbox.sqlite'));
  const objects = new ObjectStore(dataDir, STORAGE_FOLDERS);
  const faults = options.faults ?? new FaultRates(policy.faults, systemRandom);
  const apiKeys = new ApiKeys(options.apiKeys);
  const parts = { documents, objects, policy, faults, clock, onError };
  const works = new Works(parts);
  const decisions = new Decisions(parts);
  const closing = new AbortController();
  const secret = documents.get<string>('setting', 'secret') ?? randomBytes(32).toString('base64');
  documents.put('setting', 'secret', secret);
  const { signal } = closing;
  const context = { ...parts, works, decisions, secret, apiKeys, closing: signal };
  const routes = [
    ...apiRoutes(context),
    ...storageRoutes(context),
    ...controlRoutes(context),
    ...(options.routes ?? []),
  ];
  const { server, idle } = sandboxServer(context, routes);
  const free = async () => {
    closing.abort();
    await idle();
    await works.stop();
    documents.close();
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };

  const wanted = options.port ?? 0;
  try {
    await once(server.listen(wanted, host), 'listening');
  } catch (cause) {
    await free();
    const reason = cause instanceof Error ? cause.message : String(cause);
    const advice = 'choose another --port, or 0 for a free one';
    const message = `the sandbox cannot listen on ${host}:${wanted} (${reason}); ${advice}`;
    throw new Error(message, { cause });
  }
  const { port } = server.address() as AddressInfo;
  works.resume();

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    await free();
  };
  return {
    baseUrl: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    apiKeys,
    batches: () => works.all('batch').map(batchSummary),
    imports: () => works.all('import').map(importSummary),
    makeDecisions: (list) => decisions.make(list),
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
