/** Lines over the last minutes, as SVG. */
import { make, say } from './dom.js';

/**
 * @typedef {[atMs: number, value: number | null][]} Points
 * @typedef {{ label: string, points: Points }} Line
 */

const SVG = 'http://www.w3.org/2000/svg';
const HEIGHT = 150;
const PAD = { left: 46, right: 4, top: 12, bottom: 20 };
/** A hole longer than this is shown as one. */
const GAP_MS = 15_000;

/** Steps of 1, 2 or 5: the smallest of which at most three reach over `max`. @param {number} max */
export function ticks(max) {
  if (!(max > 0)) return [0, 1];
  const rough = max / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999) ??
    power * 10;
  const all = [];
  for (let at = 0; all.length === 0 || (all.at(-1) ?? 0) < max * 0.999; at++)
    all.push(Number((at * step).toPrecision(12)));
  return all;
}

/** Durations: steps that clocks know. @param {number} max seconds */
export function secondTicks(max) {
  const step = [
    0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800,
    86_400,
  ].find((size) => max / size <= 3);
  if (step === undefined || max < 0.1) return ticks(max);
  const all = [0];
  while ((all.at(-1) ?? 0) < max * 0.999) all.push(Number((all.length * step).toPrecision(12)));
  return all;
}

export class Chart {
  /** @type {Line[]} */
  #lines = [];
  #nowMs = 0;
  /** @type {number | null} */
  #cursor = null;
  #width = 0;
  #windowMs = 600_000;

  /**
   * @param {HTMLElement} figure
   * @param {{ title: string, labels: string[], format: (n: number | null | undefined) => string, axis?: (n: number) => string, ticks?: (max: number) => number[] }} options
   */
  constructor(figure, options) {
    this.options = options;
    this.outputs = options.labels.map(() => make('output'));
    const legend = options.labels.map((label, at) => {
      const mark = make('i', { 'aria-hidden': 'true', ...(at === 1 ? { class: 'second' } : {}) });
      return make('span', {}, mark, label, /** @type {HTMLElement} */ (this.outputs[at]));
    });
    this.svg = /** @type {SVGSVGElement} */ (document.createElementNS(SVG, 'svg'));
    this.svg.setAttribute('role', 'img');
    figure.append(
      make(
        'figcaption',
        {},
        make('b', {}, options.title),
        make('span', { class: 'legend' }, ...legend),
      ),
      this.svg,
    );
    for (const output of this.outputs) output.setAttribute('aria-live', 'off');
    this.svg.addEventListener('pointermove', (event) => {
      const plot = this.#width - PAD.left - PAD.right;
      const share = (event.offsetX - PAD.left) / plot;
      this.#cursor = share < 0 || share > 1 ? null : share;
      this.#draw();
    });
    this.svg.addEventListener('pointerleave', () => {
      this.#cursor = null;
      this.#draw();
    });
    new ResizeObserver(() => {
      this.#width = this.svg.clientWidth;
      this.#draw();
    }).observe(this.svg);
  }

  /** @param {Points[]} points one for each label @param {number} nowMs @param {number} windowMs */
  show(points, nowMs, windowMs) {
    this.#windowMs = windowMs;
    this.#lines = points.map((line, at) => ({
      label: this.options.labels[at] ?? '',
      points: line,
    }));
    this.#nowMs = nowMs;
    this.#draw();
  }

  #draw() {
    const { format } = this.options;
    const width = this.#width;
    if (width === 0) return;
    const fromMs = this.#nowMs - this.#windowMs;
    const minutes = this.#windowMs / 60_000;
    const seen = this.#lines.map(({ points }) => points.filter(([atMs]) => atMs >= fromMs));
    const max = Math.max(0, ...seen.flat().map(([, value]) => value ?? 0));
    const marks = (this.options.ticks ?? ticks)(max);
    const top = marks.at(-1) ?? 1;
    const x = (/** @type {number} */ atMs) =>
      PAD.left + ((atMs - fromMs) / this.#windowMs) * (width - PAD.left - PAD.right);
    const y = (/** @type {number} */ value) =>
      HEIGHT - PAD.bottom - (value / top) * (HEIGHT - PAD.top - PAD.bottom);
    const parts = [];
    for (const mark of marks) {
      parts.push(
        node('line', {
          class: 'grid',
          x1: PAD.left,
          x2: width - PAD.right,
          y1: y(mark),
          y2: y(mark),
        }),
      );
      parts.push(
        node(
          'text',
          { x: PAD.left - 8, y: y(mark) + 4, 'text-anchor': 'end' },
          (this.options.axis ?? format)(mark),
        ),
      );
    }
    for (const [text, atMs, anchor] of /** @type {const} */ ([
      [`−${minutes} min`, fromMs, 'start'],
      [`−${minutes / 2} min`, fromMs + this.#windowMs / 2, 'middle'],
      ['now', this.#nowMs, 'end'],
    ]))
      parts.push(node('text', { x: x(atMs), y: HEIGHT - 4, 'text-anchor': anchor }, text));
    for (const [at, points] of seen.entries()) {
      const runs = runsOf(points);
      const path = runs
        .map(
          (run) =>
            `M${run.map(([atMs, value]) => `${x(atMs).toFixed(1)},${y(value).toFixed(1)}`).join('L')}`,
        )
        .join('');
      if (at === 0)
        for (const run of runs) {
          const [first, last] = [run[0], run.at(-1)];
          if (first !== undefined && last !== undefined)
            parts.push(
              node('path', {
                class: 'area',
                d: `M${x(first[0])},${y(0)}L${run.map(([atMs, value]) => `${x(atMs).toFixed(1)},${y(value).toFixed(1)}`).join('L')}L${x(last[0])},${y(0)}Z`,
              }),
            );
        }
      parts.push(node('path', { class: `line ${at === 0 ? 'first' : 'second'}`, d: path }));
    }
    const atMs = this.#cursor === null ? this.#nowMs : fromMs + this.#cursor * this.#windowMs;
    if (this.#cursor !== null)
      parts.push(
        node('line', {
          class: 'cursor',
          x1: x(atMs),
          x2: x(atMs),
          y1: PAD.top,
          y2: HEIGHT - PAD.bottom,
        }),
      );
    const values = seen.map((points) => nearest(points, atMs));
    for (const [at, output] of this.outputs.entries()) say(output, format(values[at]));
    this.svg.replaceChildren(...parts);
    this.svg.setAttribute(
      'aria-label',
      `${this.options.title}, the last ${minutes} minutes. Now ${this.#lines.map(({ label, points }) => `${label} ${format(nearest(points, this.#nowMs))}`).join(', ')}; at most ${format(max)}.`,
    );
  }
}

/** @param {Points} points @returns {[number, number][][]} without holes */
export function runsOf(points) {
  /** @type {[number, number][][]} */
  const runs = [];
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const [atMs, value] of points) {
    if (value === null) continue;
    if (atMs - lastMs > GAP_MS) runs.push([]);
    runs.at(-1)?.push([atMs, value]);
    lastMs = atMs;
  }
  return runs;
}

/** @param {Points} points @param {number} atMs */
function nearest(points, atMs) {
  let found = null;
  for (const [at, value] of points)
    if (
      value !== null &&
      Math.abs(at - atMs) <= GAP_MS &&
      (found === null || Math.abs(at - atMs) <= Math.abs(found[0] - atMs))
    )
      found = /** @type {const} */ ([at, value]);
  return found === null ? null : found[1];
}

/** @param {string} name @param {Record<string, string | number>} attributes @param {string} [text] */
function node(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}
