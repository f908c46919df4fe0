/**
 * What a command is doing, on standard error: one line that is written over at a terminal, now and then a line of its own
 * elsewhere. Without colours, so there is nothing for NO_COLOR to turn off.
 */
import type { Io } from './io.ts';
import { printable } from './printable.ts';

/** Between two pictures of the line at a terminal. */
const REDRAW_MS = 100;
/** Between two lines elsewhere: a log is read later. What takes less says nothing. */
const LINE_MS = 10_000;
const BAR_CELLS = 24;
const MAX_LINE = 400;
const TO_LINE_START = '\r\u001b[K';

export class Progress {
  readonly #io: Io;
  readonly #nowMs: () => number;
  #shownMs: number;
  #drawn = false;

  /** @param nowMs a clock that only goes forward. */
  constructor(io: Io, nowMs: () => number = () => performance.now()) {
    this.#io = io;
    this.#nowMs = nowMs;
    this.#shownMs = nowMs();
  }

  /** What is true just now; most of it is never seen. */
  show(text: () => string): void {
    const columns = this.#io.errColumns();
    const nowMs = this.#nowMs();
    if (nowMs - this.#shownMs < (columns === undefined ? LINE_MS : REDRAW_MS)) return;
    this.#shownMs = nowMs;
    const line = printable(text(), columns === undefined ? MAX_LINE : Math.max(1, columns - 2));
    this.#io.err(columns === undefined ? `${line}\n` : `${TO_LINE_START}${line}`);
    this.#drawn = columns !== undefined;
  }

  /** What stays to be read. Several lines are one note. */
  note(text: string): void {
    this.clear();
    this.#io.err(`${text}\n`);
    this.#shownMs = this.#nowMs();
  }

  clear(): void {
    if (this.#drawn) this.#io.err(TO_LINE_START);
    this.#drawn = false;
  }
}

/** `uploading  ████░░ …` in plain characters: `[######------]  50 %`. */
export function bar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.floor(share * BAR_CELLS);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_CELLS - filled)}] ${String(Math.floor(share * 100)).padStart(3)} %`;
}

/** `84.0 MB`: decimal units, as file managers and networks count. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1_000 ** power).toFixed(1)} ${units[power - 1]}`;
}
