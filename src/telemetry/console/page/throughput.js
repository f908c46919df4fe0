/** Throughput of the shown pipeline over the last minutes, drawn as one line. */

const WINDOW_MS = 600_000;
/** Rates are averages over this time: single seconds jump. */
const RATE_MS = 10_000;
const WIDTH = 200;
const HEIGHT = 28;

export class Throughput {
  /** Records ended since the start of the process. @type {{ atMs: number, ended: number }[]} */
  #samples = [];
  #of = '';

  /**
   * Adds a state that is later than those before. Another pipeline, or a restarted connector, has
   * totals of its own.
   * @param {{ nowMs: number, startedMs: number, detail: { name: string, ended: number } }} state
   */
  add({ nowMs, startedMs, detail: { name, ended } }) {
    const of = `${name} ${startedMs}`;
    if (of !== this.#of) this.#samples = [];
    this.#of = of;
    this.#samples.push({ atMs: nowMs, ended });
    const fromMs = nowMs - WINDOW_MS - RATE_MS;
    this.#samples = this.#samples.filter(({ atMs }) => atMs >= fromMs);
  }

  /** @returns {{ atMs: number, perSecond: number }[]} one rate for each sample but the first */
  get rates() {
    return this.#samples.slice(1).map((sample, at) => {
      const { atMs, ended } = sample;
      const before = this.#samples.slice(0, at + 1);
      const first = before.find((one) => one.atMs >= atMs - RATE_MS) ?? before.at(-1) ?? sample;
      return { atMs, perSecond: ((ended - first.ended) * 1000) / Math.max(1, atMs - first.atMs) };
    });
  }

  /** @returns {string} points of a polyline in a box of WIDTH by HEIGHT, now at its right end */
  get points() {
    const rates = this.rates;
    const nowMs = rates.at(-1)?.atMs ?? 0;
    const most = Math.max(1e-9, ...rates.map(({ perSecond }) => perSecond));
    return rates
      .map(({ atMs, perSecond }) => {
        const x = WIDTH - ((nowMs - atMs) / WINDOW_MS) * WIDTH;
        return `${x.toFixed(1)},${(HEIGHT - 1 - (perSecond / most) * (HEIGHT - 2)).toFixed(1)}`;
      })
      .join(' ');
  }
}
