/** Throughput of the shown pipeline over the last minutes, drawn as one line. */

/** @typedef {{ atMs: number, ended: number }} Sample records ended since the start of the process */

const WINDOW_MS = 600_000;
/** Rates are averages over this time: single seconds jump. */
const RATE_MS = 10_000;
const WIDTH = 200;
const HEIGHT = 28;

export class Throughput {
  /** @type {Sample[]} */
  #samples = [];

  /** @param {Sample} sample later than those before */
  add(sample) {
    this.#samples.push(sample);
    const fromMs = sample.atMs - WINDOW_MS - RATE_MS;
    this.#samples = this.#samples.filter(({ atMs }) => atMs >= fromMs);
  }

  /** @returns {{ atMs: number, perSecond: number }[]} one rate for each sample but the first */
  get rates() {
    return this.#samples.slice(1).map(({ atMs, ended }, at) => {
      const first = /** @type {Sample} */ (
        this.#samples.slice(0, at + 1).find((one) => one.atMs >= atMs - RATE_MS) ??
          this.#samples[at]
      );
      return { atMs, perSecond: ((ended - first.ended) * 1000) / Math.max(1, atMs - first.atMs) };
    });
  }

  /** @returns {number | null} records per second now; null before the second sample */
  get perSecond() {
    return this.rates.at(-1)?.perSecond ?? null;
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
