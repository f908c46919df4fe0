/** The samples of one pipeline, as far back as the charts show them. Pure. */

/** @typedef {import('../activity.ts').Sample} Sample */

export const WINDOW_MS = 600_000;
/** Soon after a start there is less to show, and the charts show that larger. */
const WINDOWS_MS = [120_000, 300_000];
/** A rate is told over this long: single seconds jump. */
const RATE_MS = 10_000;

export class History {
  /** @type {Sample[]} */
  samples = [];

  /** @param {readonly Sample[]} more later ones, ascending */
  add(more) {
    const lastMs = this.lastMs;
    for (const sample of more) if (sample.atMs > lastMs) this.samples.push(sample);
    const fromMs = this.lastMs - WINDOW_MS - 2 * RATE_MS;
    while (this.samples[0] !== undefined && this.samples[0].atMs < fromMs) this.samples.shift();
  }

  get lastMs() {
    return this.samples.at(-1)?.atMs ?? 0;
  }

  /** How far back the charts reach. */
  get windowMs() {
    const span = this.lastMs - (this.samples[0]?.atMs ?? this.lastMs);
    return WINDOWS_MS.find((windowMs) => span <= windowMs) ?? WINDOW_MS;
  }

  /** @param {'consumed' | 'decided'} what @returns {[number, number | null][]} per second, over the last moments */
  rates(what) {
    let from = 0;
    let sum = 0;
    return this.samples.map((sample, at) => {
      sum += sample[what];
      while (/** @type {Sample} */ (this.samples[from]).atMs <= sample.atMs - RATE_MS)
        sum -= /** @type {Sample} */ (this.samples[from++])[what];
      const first =
        from > 0 ? /** @type {Sample} */ (this.samples[from - 1]).atMs : sample.atMs - RATE_MS;
      return [sample.atMs, at === 0 ? null : (sum / Math.max(1, sample.atMs - first)) * 1000];
    });
  }

  /** @param {'p50' | 'p95' | 'inFlight' | 'lag'} what @returns {[number, number | null][]} */
  values(what) {
    return this.samples.map((sample) => [sample.atMs, sample[what]]);
  }

  /** @param {number} nowMs @returns by the minute, the newest first */
  minutes(nowMs) {
    const rows = [];
    for (let toMs = nowMs; toMs > nowMs - WINDOW_MS; toMs -= 60_000) {
      const of = this.samples.filter(({ atMs }) => atMs <= toMs && atMs > toMs - 60_000);
      const last = of.at(-1);
      if (last === undefined) continue;
      const sum = (/** @type {'consumed' | 'decided'} */ what) =>
        of.reduce((total, sample) => total + sample[what], 0);
      rows.push({
        toMs,
        consumed: sum('consumed'),
        decided: sum('decided'),
        p50: last.p50,
        p95: last.p95,
        inFlight: last.inFlight,
        lag: last.lag,
      });
    }
    return rows;
  }
}
