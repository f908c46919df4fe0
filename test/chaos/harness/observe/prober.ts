/** Probes the liveness of each replica continuously. It must respond in time during every fault. */
import { setTimeout as sleep } from 'node:timers/promises';

const PERIOD_MS = 500;
/** Maximum time of a response, ms. */
export const LIVEZ_BOUND_MS = 2_000;
/** A gap of STALLED_MS between two ticks shows that this process or the machine was stalled. */
const TICK_MS = 100;
const STALLED_MS = 400;

export interface Probed {
  /** Number of responses. */
  count: number;
  /** Longest response time, ms. */
  slowestMs: number;
  /** Number of responses other than 200. */
  unwell: number;
  /** Number of late responses that do not count, because the machine was stalled rather than the replica. */
  excused: number;
}

export interface Subject {
  readonly name: string;
  /** URL of /livez; undefined until it is known. */
  url(): string | undefined;
  /** True if the replica runs and was neither stopped nor frozen. */
  mustAnswer(): boolean;
  /** Number of times that the replica was stopped, frozen or resumed. */
  interruptions(): number;
  /** Time since the replica's start in which it was runnable but had no processor, ms. */
  waitedMs(): number;
}

export class Prober {
  readonly probed: Probed = { count: 0, slowestMs: 0, unwell: 0, excused: 0 };
  readonly violations: string[] = [];
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  #tickedAtMs = performance.now();
  /** Time of the last stall of this process that a tick detected. */
  #stalledAtMs = Number.NEGATIVE_INFINITY;
  readonly #tick: NodeJS.Timeout;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.#tick = setInterval(() => {
      const nowMs = performance.now();
      if (nowMs - this.#tickedAtMs > STALLED_MS) this.#stalledAtMs = nowMs;
      this.#tickedAtMs = nowMs;
    }, TICK_MS);
  }

  /** Probes until `isOver`, or until the signal is aborted. */
  watch(subject: Subject, isOver: () => boolean): void {
    const run = this.#run(subject, isOver).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  async close(): Promise<void> {
    await Promise.all(this.#running);
    clearInterval(this.#tick);
  }

  async #run(subject: Subject, isOver: () => boolean): Promise<void> {
    while (!this.#signal.aborted && !isOver()) {
      const url = subject.url();
      if (url !== undefined && subject.mustAnswer()) await this.#probe(subject, url);
      await sleep(PERIOD_MS, undefined, { signal: this.#signal }).catch(() => undefined);
    }
  }

  async #probe(subject: Subject, url: string): Promise<void> {
    const before = subject.interruptions();
    const startedMs = performance.now();
    const waitedMs = subject.waitedMs();
    let problem: string | undefined;
    let unwell = false;
    try {
      // The timeout is longer than the bound, to distinguish a late response from a missing one.
      const answer = await fetch(url, {
        signal: AbortSignal.any([this.#signal, AbortSignal.timeout(5 * LIVEZ_BOUND_MS)]),
      });
      unwell = !answer.ok;
      await answer.arrayBuffer();
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    const tookMs = performance.now() - startedMs;
    if (this.#signal.aborted || !subject.mustAnswer() || subject.interruptions() !== before) return;
    const starvedMs = subject.waitedMs() - waitedMs;
    // A response may be read before the tick that detects a stall of this process.
    const stalled =
      this.#stalledAtMs > startedMs || performance.now() - this.#tickedAtMs > STALLED_MS;
    if (problem === undefined && tookMs <= LIVEZ_BOUND_MS) {
      this.probed.count++;
      if (unwell) this.probed.unwell++;
      this.probed.slowestMs = Math.max(this.probed.slowestMs, tookMs);
    } else if (stalled || (!problem && tookMs - starvedMs <= LIVEZ_BOUND_MS)) this.probed.excused++;
    else {
      this.probed.slowestMs = Math.max(this.probed.slowestMs, tookMs);
      this.violations.push(
        `${subject.name} did not answer /livez within ${LIVEZ_BOUND_MS} ms (${problem ?? `${Math.round(tookMs)} ms`}, ${Math.round(starvedMs)} ms of them without a processor)`,
      );
    }
  }
}
