/** Throughput of the displayed pipeline. */

/** Time over which throughput is averaged, because it varies from second to second. */
const RATE_MS = 10_000;

export class Throughput {
  /** Number of records ended since the start of the process, over time. @type {{ atMs: number, ended: number }[]} */
  #samples = [];
  #of = '';

  /**
   * Adds a state, which must be later than the previous ones. Another pipeline or a restarted
   * connector begins a new series.
   * @param {{ nowMs: number, startedMs: number, detail: { name: string, ended: number } }} state
   */
  add({ nowMs, startedMs, detail: { name, ended } }) {
    const of = `${name} ${startedMs}`;
    if (of !== this.#of) this.#samples = [];
    this.#of = of;
    this.#samples.push({ atMs: nowMs, ended });
    this.#samples = this.#samples.filter(({ atMs }) => atMs >= nowMs - RATE_MS);
  }

  /** @returns {number | undefined} undefined before the second state */
  get perSecond() {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || first === last) return undefined;
    return ((last.ended - first.ended) * 1000) / Math.max(1, last.atMs - first.atMs);
  }
}
