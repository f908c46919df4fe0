/** A reference Content Review Service in this process (DESIGN 7). docs/sandbox.md describes it for users. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { batchRoutes } from './batches/batch-routes.ts';
import { BatchStore } from './batches/batch-store.ts';
import { Lifecycle } from './batches/lifecycle.ts';
import { type SandboxClock, systemClock } from './clock.ts';
import { type BatchSummary, controlRoutes, summaryOf } from './control-routes.ts';
import { FaultScript } from './faults/script.ts';
import { ApiKeys, bearerAuth } from './http/bearer.ts';
import { sandboxServer } from './http/server.ts';
import { type PolicyInput, parsePolicy } from './policy/schema.ts';
import { ObjectStore } from './storage/object-store.ts';
import { storageRoutes } from './storage/storage-routes.ts';

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
  /** Cuts every connection and frees everything. Repeatable. */
  stop(): Promise<void>;
}

/**
 * Starts the sandbox and takes up unfinished batches of an earlier process.
 * @throws InvalidSandboxInput for a wrong policy; Error for no API key, a port or a data directory in use.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { host = '127.0.0.1', clock = systemClock, onError = warn } = options;
  const policy = parsePolicy(options.policy);
  if (options.apiKeys.length === 0) throw new Error('the sandbox needs at least one API key for its callers');
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'content-review-sandbox-'));
  const removeData = () => {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  mkdirSync(dataDir, { recursive: true });

  const store = new BatchStore(join(dataDir, 'sandbox.sqlite'));
  const uploads = new ObjectStore(join(dataDir, 'uploads'));
  const results = new ObjectStore(join(dataDir, 'results'));
  // Kept with the data: addresses handed out before a restart stay good.
  const secret = store.setting('signing-secret', () => randomBytes(32).toString('base64url'));
  const faults = new FaultScript(policy.faults);
  const apiKeys = new ApiKeys(options.apiKeys);
  const authorize = bearerAuth(apiKeys);
  const closing = new AbortController();
  const lifecycle = new Lifecycle({ store, uploads, results, policy, faults, clock, onError });

  let baseUrl = '';
  const around = { clock, closing: closing.signal };
  const { maxUploadBytes } = policy.storage;
  const onUploaded = lifecycle.uploaded.bind(lifecycle);
  const { server, idle } = sandboxServer({
    ...around,
    routes: [
      batchRoutes({ store, policy, clock, authorize, secret }),
      storageRoutes({ ...around, store, uploads, results, secret, maxUploadBytes, onUploaded }),
      controlRoutes({ store, faults, apiKeys, authorize }),
    ],
    faults,
    fallbackOrigin: () => baseUrl,
    onError,
  });
  const free = async () => {
    closing.abort();
    await Promise.all([idle(), lifecycle.stop()]);
    store.close();
    removeData();
  };

  const port = await listen(server, host, options.port ?? 0).catch(async (error: unknown) => {
    await free();
    throw error;
  });
  baseUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  lifecycle.resume();

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
    batches: () => store.all().map(summaryOf),
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
    throw new Error(`the sandbox cannot listen on ${host}:${port} (${reason}); choose another --port, or 0 for a free one`, {
      cause,
    });
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
