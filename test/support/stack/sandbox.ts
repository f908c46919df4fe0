/** Requests of tests to a running sandbox. */
import type { BatchSummary, ImportSummary } from '../../../packages/sandbox/src/control-routes.ts';
import type { MadeDecision } from '../../../packages/sandbox/src/decisions.ts';
import type { FaultInput, ScriptEntry } from '../service/fault-script.ts';

const ANSWER_MS = 5_000;

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
    if (decisions.length > 0) await this.#send('POST', '/sandbox/decisions', decisions);
  }

  /** Replaces the fault script. @returns its entries with their hits */
  async setFaults(faults: readonly FaultInput[]): Promise<readonly ScriptEntry[]> {
    const answer = await this.#send('PUT', '/sandbox/faults', faults);
    return ((await answer.json()) as { faults: readonly ScriptEntry[] }).faults;
  }

  /** Lines of the file of an import. */
  async importedLines(id: string): Promise<string[]> {
    const answer = await this.#answer(`/sandbox/imports/${id}/content`);
    return (await answer.text()).trimEnd().split('\n');
  }

  async #ask(route: string): Promise<unknown> {
    return await (await this.#answer(route)).json();
  }

  async #send(method: string, route: string, body: unknown): Promise<Response> {
    const headers = { 'Content-Type': 'application/json' };
    return await this.#answer(route, { method, headers, body: JSON.stringify(body) });
  }

  async #answer(route: string, init: RequestInit = {}): Promise<Response> {
    const answer = await fetch(`${this.url}${route}`, {
      ...init,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!answer.ok)
      throw new Error(`the sandbox answered ${answer.status}: ${await answer.text()}`);
    return answer;
  }
}
