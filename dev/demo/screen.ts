/** Lines that stay, and below them a block that is redrawn in place where the output is a terminal. */
import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** Width for output to a file, where lines are not wrapped. */
const FILE_COLUMNS = 160;
const NARROWEST = 72;
/** Between plain lines that replace the block where nothing can be redrawn, ms. */
const PLAIN_MS = 1_000;

export interface DrawOptions {
  /** The block stays as it is. */
  readonly last?: boolean;
  readonly everyMs?: number;
}

export class Screen {
  /** True if the block is redrawn in place. */
  readonly live: boolean;
  readonly #out: NodeJS.WriteStream;
  #block: readonly string[] = [];
  #plain = '';
  #plainMs = Number.NEGATIVE_INFINITY;

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
    this.live = out.isTTY && this.columns >= NARROWEST && process.env.TERM !== 'dumb';
  }

  get columns(): number {
    return this.#out.columns ?? FILE_COLUMNS;
  }

  /** Colour only where the output is a terminal that has it; NO_COLOR is respected. */
  paint(style: Style, text: string): string {
    return styleText(style, text, { stream: this.#out });
  }

  /** A line that stays, above the block. */
  print(text = ''): void {
    const block = this.#block;
    this.#out.write(`${this.#upToBlock()}${text}\n${block.map((line) => `${line}\n`).join('')}`);
    this.#block = block;
  }

  /** Redraws the block; where that is impossible, prints `plain` instead when it is new, not more often than that unless `last`. */
  draw(
    lines: readonly string[],
    plain: string,
    { last = false, everyMs = PLAIN_MS }: DrawOptions = {},
  ): void {
    if (this.live) {
      this.#out.write(`${this.#upToBlock()}${lines.map((line) => `${line}\n`).join('')}`);
      this.#block = last ? [] : lines;
      return;
    }
    const now = performance.now();
    if (plain === this.#plain || (!last && now - this.#plainMs < everyMs)) return;
    this.#plain = plain;
    this.#plainMs = now;
    this.#out.write(`${plain}\n`);
  }

  /** Removes the block. */
  clear(): void {
    if (this.#block.length > 0) this.#out.write(this.#upToBlock());
    this.#block = [];
  }

  /** To the block's first line, with everything from there erased. */
  #upToBlock(): string {
    return this.#block.length === 0 ? '' : `\r\u001b[${this.#block.length}A\u001b[0J`;
  }
}

/** Longest wait for whoever reads the output, ms. */
const WRITTEN_MS = 1_000;

/** Resolves when everything was written: `process.exit` throws away what a slow reader has not taken yet. */
export function written(out: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, WRITTEN_MS);
    out.write('', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
