import type { Io } from './io.ts';
import { printable } from './text.ts';

/** Interval between updates on a terminal, in ms. */
const REDRAW_MS = 100;
/** Interval between lines on other outputs, in ms. A command that takes less prints none. */
const LINE_MS = 10_000;
const BAR_CELLS = 24;
const MAX_LINE = 400;
const TO_LINE_START = '\r\u001b[K';

/** Progress of a command on standard error: one line that is overwritten on a terminal, else one every ten seconds. */
export class CommandProgress {
  readonly #io: Io;
  readonly #nowMs: () => number;
  #shownMs: number;
  #isDrawn = false;

  /** @param nowMs returns the time of the monotonic clock in ms */
  constructor(io: Io, nowMs: () => number = () => performance.now()) {
    this.#io = io;
    this.#nowMs = nowMs;
    this.#shownMs = nowMs();
  }

  /** Shows the current state, at most once per interval. */
  show(text: () => string): void {
    const columns = this.#io.errColumns();
    const nowMs = this.#nowMs();
    if (nowMs - this.#shownMs < (columns === undefined ? LINE_MS : REDRAW_MS)) return;
    this.#shownMs = nowMs;
    const line = printable(text(), columns === undefined ? MAX_LINE : Math.max(1, columns - 2));
    this.#io.err(columns === undefined ? `${line}\n` : `${TO_LINE_START}${line}`);
    this.#isDrawn = columns !== undefined;
  }

  /** Prints lines that are not overwritten. */
  note(text: string): void {
    this.clear();
    this.#io.err(`${text}\n`);
    this.#shownMs = this.#nowMs();
  }

  /** Clears the progress line on a terminal. */
  clear(): void {
    if (this.#isDrawn) this.#io.err(TO_LINE_START);
    this.#isDrawn = false;
  }
}

/** Returns a progress bar such as `[######------]  50 %`. */
export function bar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.floor(share * BAR_CELLS);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `[${'#'.repeat(filled).padEnd(BAR_CELLS, '-')}] ${percent} %`;
}

/** Returns a size in decimal units, such as `84.0 MB`. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.max(0, Math.min(4, Math.floor(Math.log10(bytes) / 3)));
  return power === 0 ? `${bytes} B` : `${(bytes / 1_000 ** power).toFixed(1)} ${units[power]}`;
}
