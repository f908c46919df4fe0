/** Client of a running sandbox for tests. */
import type { BatchSummary, ImportSummary } from '../../../packages/sandbox/src/control-routes.ts';
import type { MadeDecision } from '../../../packages/sandbox/src/decisions.ts';
import type { FaultInput, ScriptEntry } from '../service/fault-script.ts';

/** Maximum time of a response. After a long run, the list of batches has thousands of entries. */
const ANSWER_MS = 30_000;

export class Sandbox {
  /** Base URL of the routes for checkers. */
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  /** Number of batches and imports that have not ended. @throws Error if the sandbox does not respond */
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

  /** @throws Error if the sandbox does not respond */
  async makeDecisions(decisions: readonly MadeDecision[]): Promise<void> {
    if (decisions.length > 0) await this.#send('POST', '/sandbox/decisions', decisions);
  }

  /** Replaces the fault script. @returns its entries with their hits */
  async setFaults(faults: readonly FaultInput[]): Promise<readonly ScriptEntry[]> {
    const answer = await this.#send('PUT', '/sandbox/faults', faults);
    return ((await answer.json()) as { faults: readonly ScriptEntry[] }).faults;
  }

  /** Returns the lines of an import's file. */
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
      throw new Error(`the sandbox responded with ${answer.status}: ${await answer.text()}`);
    return answer;
  }
}
