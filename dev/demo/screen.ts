/** Terminal output: permanent lines, and below them one line that is redrawn in place where possible. */
import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Time between printed lines if nothing can be redrawn. */
const PLAIN_MS = 2_000;

export class Screen {
  readonly #out: NodeJS.WriteStream;
  readonly #live: boolean;
  #line = '';
  #printedMs = Number.NEGATIVE_INFINITY;

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
    this.#live = out.isTTY && process.env.TERM !== 'dumb';
  }

  /** Colours text if the output is a terminal that supports colours. Respects NO_COLOR. */
  paint(style: Style, text: string): string {
    return styleText(style, text, { stream: this.#out });
  }

  /** Prints a permanent line above the redrawn line. */
  print(text = ''): void {
    this.#out.write(`${this.#live ? '\r\u001b[K' : ''}${text}\n${this.#live ? this.#line : ''}`);
  }

  /** Replaces the redrawn line. Where that is impossible, prints a new line if enough time has passed. */
  draw(text: string): void {
    if (this.#live) {
      // A wrapped line could not be erased.
      this.#line = text.slice(0, this.#out.columns - 1);
      this.#out.write(`\r\u001b[K${this.#line}`);
      return;
    }
    const nowMs = performance.now();
    if (text === '' || text === this.#line || nowMs - this.#printedMs < PLAIN_MS) return;
    this.#line = text;
    this.#printedMs = nowMs;
    this.#out.write(`${text}\n`);
  }
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
