/** Requests to a running sandbox. */
import type { BatchSummary, ImportSummary } from '../../../packages/sandbox/src/control-routes.ts';
import type { MadeDecision } from '../../../packages/sandbox/src/decisions.ts';
import type { FaultInput } from '../../support/service/fault-script.ts';
import { makeDecisions } from '../../support/stack/stack-control.ts';

const ANSWER_MS = 5_000;

export interface FaultEntry {
  readonly fired: number;
}

export class Sandbox {
  /** Base URL of its checkers' routes. */
  readonly url: string;

  constructor(url: string) {
    this.url = url;
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
    await makeDecisions(this.url, decisions, AbortSignal.timeout(ANSWER_MS));
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
    const answer = await fetch(`${this.url}${route}`, {
      ...init,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!answer.ok)
      throw new Error(`the sandbox answered ${answer.status}: ${await answer.text()}`);
    return await answer.json();
  }
}
