/** Asks each replica's liveness probe all the time: is it answered in time, whatever goes on? */
import { setTimeout as sleep } from 'node:timers/promises';

const PERIOD_MS = 500;
/** The bound that each answer must keep. */
export const LIVEZ_BOUND_MS = 2_000;
/** Such a gap between two ticks of our own says that this process, or the machine, stood still. */
const TICK_MS = 100;
const STALLED_MS = 400;

export interface Probed {
  /** Answers. */
  count: number;
  /** Longest wait for one, ms. */
  slowestMs: number;
  /** Answers other than 200. */
  unwell: number;
  /** Late answers that are not counted: the machine, not the replica, was late. */
  excused: number;
}

export interface Subject {
  readonly name: string;
  /** URL of /livez; undefined until it is known. */
  url(): string | undefined;
  /** True if it must answer: it runs, and nothing has stopped or frozen it. */
  mustAnswer(): boolean;
  /** Grows each time that it is stopped, frozen or woken. */
  interruptions(): number;
  /** Time that it was ready to run and had no processor, since its start, ms. */
  waitedMs(): number;
}

export class Prober {
  readonly probed: Probed = { count: 0, slowestMs: 0, unwell: 0, excused: 0 };
  readonly violations: string[] = [];
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  #tickedAtMs = performance.now();
  /** Time of this process's last stall that a tick has shown. */
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

  /** Probes until it need not answer any more and `isOver`, or everything ends. */
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
      // Longer than the bound, so that a late answer is told from none.
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
    // After a stall of ours an answer may be read before the next tick.
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
        `${subject.name} did not answer /livez within ${LIVEZ_BOUND_MS} ms (${problem ?? `${Math.round(tookMs)} ms`}, ${Math.round(starvedMs)} ms of it without a processor)`,
      );
    }
  }
}
