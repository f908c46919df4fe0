import type { Io } from './io.ts';
import { printable } from './text.ts';

/** Interval of the lines of progress; a shorter command has none. */
const LINE_MS = 10_000;
const MAX_LINE = 400;

/** Notes of a command, and now and then a line of its progress, on standard error. */
export class CommandProgress {
  readonly #io: Pick<Io, 'err'>;
  readonly #nowMs: () => number;
  #shownMs: number;

  /** @param nowMs monotonic clock. */
  constructor(io: Pick<Io, 'err'>, nowMs: () => number = () => performance.now()) {
    this.#io = io;
    this.#nowMs = nowMs;
    this.#shownMs = nowMs();
  }

  /** Prints the current state, at most once in the interval. */
  show(text: () => string): void {
    if (this.#nowMs() - this.#shownMs >= LINE_MS) this.note(printable(text(), MAX_LINE));
  }

  /** Prints lines at once. */
  note(text: string): void {
    this.#io.err(`${text}\n`);
    this.#shownMs = this.#nowMs();
  }
}

/** Returns a size in decimal units: `84.0 MB`. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.max(0, Math.min(4, Math.floor(Math.log10(bytes) / 3)));
  return power === 0 ? `${bytes} B` : `${(bytes / 1_000 ** power).toFixed(1)} ${units[power]}`;
}
