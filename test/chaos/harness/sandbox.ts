/** The sandbox as a process. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { type Kept, spawnKept } from '../../../dev/process/kept.ts';
import type { BatchSummary, ImportSummary } from '../../../packages/sandbox/src/control-routes.ts';
import type { MadeDecision } from '../../../packages/sandbox/src/decisions.ts';
import type { FaultInput } from '../../support/service/fault-script.ts';
import { makeDecisions } from '../../support/stack/stack-control.ts';

const SERVICE = fileURLToPath(new URL('../../support/service/main.ts', import.meta.url));
const ANSWER_MS = 5_000;

export interface FaultEntry {
  readonly fired: number;
}

export class SandboxServer {
  readonly #policyFile: string;
  readonly #apiKey: string;
  #process: Kept | undefined;
  #url = '';

  constructor(directory: string, apiKey: string, policy: object) {
    this.#policyFile = path.join(directory, 'policy.yaml');
    this.#apiKey = apiKey;
    writeFileSync(this.#policyFile, stringify(policy));
  }

  get process(): Kept {
    if (this.#process === undefined) throw new Error('the sandbox was not started');
    return this.#process;
  }

  async start(): Promise<void> {
    const listening = Promise.withResolvers<string>();
    const lines: string[] = [];
    const kept = await spawnKept({
      command: process.execPath,
      args: [SERVICE, this.#policyFile, this.#apiKey],
      onLine: (line) => {
        lines.push(line);
        const url = /listening on (\S+)/.exec(line)?.[1];
        if (url !== undefined) listening.resolve(url);
      },
    });
    void kept.exited.then(() =>
      listening.reject(new Error(`the sandbox did not start:\n${lines.join('\n')}`)),
    );
    this.#process = kept;
    this.#url = await listening.promise;
  }

  /** Base URL of its checkers' routes. */
  get url(): string {
    return this.#url;
  }

  /** Batches and imports that have not come to their end. @throws Error when the sandbox is down. */
  async unfinished(): Promise<number> {
    return [...(await this.batches()), ...(await this.imports())].filter(
      ({ finished }) => finished === null,
    ).length;
  }

  async batches(): Promise<BatchSummary[]> {
    return ((await this.#ask('/sandbox/batches')) as { batches: BatchSummary[] }).batches;
  }

  async imports(): Promise<ImportSummary[]> {
    return ((await this.#ask('/sandbox/imports')) as { imports: ImportSummary[] }).imports;
  }

  /** @throws Error when the sandbox is down. */
  async makeDecisions(decisions: readonly MadeDecision[]): Promise<void> {
    await makeDecisions(this.#url, decisions, AbortSignal.timeout(ANSWER_MS));
  }

  /** Replaces the fault script. */
  async setFaults(faults: readonly FaultInput[]): Promise<void> {
    await this.#ask('/sandbox/faults', {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(faults),
    });
  }

  /** Returns the hits of each entry of the script. */
  async faults(): Promise<readonly FaultEntry[]> {
    return ((await this.#ask('/sandbox/faults')) as { faults: readonly FaultEntry[] }).faults;
  }

  async #ask(route: string, init: RequestInit = {}): Promise<unknown> {
    const answer = await fetch(`${this.#url}${route}`, {
      ...init,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!answer.ok)
      throw new Error(`the sandbox answered ${answer.status}: ${await answer.text()}`);
    return await answer.json();
  }
}
