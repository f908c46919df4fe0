/** Reference Content Review Service, running in this process. packages/sandbox/README.md describes it for users. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../client/src/base/clock.ts';
import { apiRoutes, storageRoutes } from './api-routes.ts';
import {
  type BatchSummary,
  batchSummary,
  controlRoutes,
  type ImportSummary,
  importSummary,
} from './control-routes.ts';
import { Decisions, type MadeDecision } from './decisions.ts';
import { type Faults, faultRates } from './faults.ts';
import { type PolicyInput, parsePolicy } from './policy.ts';
import { ApiKeys, type Route, sandboxServer } from './server.ts';
import { Works, type WorksParts } from './works.ts';

export interface SandboxOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Policy in the form of a policy file (see readPolicyFile). Default: everything is approved at once. */
  readonly policy?: PolicyInput;
  /** Accepted API keys; at least one. */
  readonly apiKeys: readonly string[];
  /** Default: the faults in the policy, at its rates. */
  readonly faults?: Faults;
  /** Additional routes. */
  readonly routes?: readonly Route[];
  readonly clock?: WorksParts['clock'];
  /** Receives failures of the sandbox itself. Default: a process warning. */
  readonly onError?: (error: unknown) => void;
}

export interface Sandbox {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly port: number;
  /** Accepted API keys. They may be changed while the sandbox runs. */
  readonly apiKeys: ApiKeys;
  /** Returns the list of GET /sandbox/batches. */
  batches(): BatchSummary[];
  /** Returns the list of GET /sandbox/imports. */
  imports(): ImportSummary[];
  /** Does the same as POST /sandbox/decisions, and returns the ids. @throws InvalidSandboxInput */
  makeDecisions(list: readonly MadeDecision[]): string[];
  /** Closes every connection and frees everything. Can be called repeatedly. */
  stop(): Promise<void>;
}

/**
 * Starts the sandbox. It keeps everything in memory.
 * @throws InvalidSandboxInput for a wrong policy; Error without an API key, or if the port is in use.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { host = '127.0.0.1', port: wanted = 0, clock = systemClock, onError = warn } = options;
  const policy = parsePolicy(options.policy);
  if (options.apiKeys.length === 0) {
    throw new Error('the sandbox needs at least one API key for its callers');
  }
  const faults = options.faults ?? faultRates(policy.faults, Math.random);
  const apiKeys = new ApiKeys(options.apiKeys);
  const works = new Works({ policy, faults, clock, onError });
  const decisions = new Decisions({ policy, clock });
  const context = { policy, clock, works, decisions, secret: randomBytes(32).toString('base64') };
  const server = sandboxServer({ apiKeys, faults, onError }, [
    ...apiRoutes(context),
    ...storageRoutes(context),
    ...controlRoutes(context),
    ...(options.routes ?? []),
  ]);
  try {
    await once(server.listen(wanted, host), 'listening');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const advice = 'choose another --port, or 0 for a free one';
    const message = `the sandbox cannot listen on ${host}:${wanted} (${reason}); ${advice}`;
    throw new Error(message, { cause });
  }
  const { port } = server.address() as AddressInfo;
  const closed = once(server, 'close');
  return {
    baseUrl: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    apiKeys,
    batches: () => works.all('batch').map(batchSummary),
    imports: () => works.all('import').map(importSummary),
    makeDecisions: (list) => decisions.make(list),
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
