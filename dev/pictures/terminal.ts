/** Terminal screens as SVG: the output of a program with the few escape sequences that the demo writes. */
import { type Caption, escaped, fixed, picture } from './draw.ts';

/** Run of characters with one style: SGR codes such as `1;32`, in ascending order. */
interface Run {
  text: string;
  readonly style: string;
}
type Line = readonly Run[];

/** A screen at a time since the start. */
export interface Frame {
  readonly atMs: number;
  readonly lines: readonly Line[];
}

const ESC = '\u001b';
const TOKENS = new RegExp(`${ESC}\\[[\\d;?]*[a-zA-Z]|[^${ESC}]|${ESC}`, 'gu');
const UNFINISHED = new RegExp(`${ESC}(?:\\[[\\d;?]*)?$`);
const RESETS: Readonly<Record<string, readonly string[]>> = {
  '0': [],
  '22': ['1', '2'],
  '39': ['30', '31', '32', '33', '34', '35', '36', '37', '90'],
};

/** Screen of a terminal that scrolls: lines of text, colours, cursor up, erase below. */
export class TerminalScreen {
  #lines: Run[][] = [[]];
  #row = 0;
  #styles = new Set<string>();
  #rest = '';

  /** Takes output as it comes. @throws Error at an escape sequence that it does not know */
  write(output: string): void {
    const text = this.#rest + output;
    // A sequence may be cut in two.
    const cutAt = UNFINISHED.exec(text)?.index ?? text.length;
    this.#rest = text.slice(cutAt);
    for (const [token] of text.slice(0, cutAt).matchAll(TOKENS)) this.#take(token);
  }

  /** The last `rows` lines, without empty ones at the end. */
  tail(rows: number): Line[] {
    const end =
      this.#lines.findLastIndex((line) => line.some(({ text }) => text.trim() !== '')) + 1;
    return this.#lines
      .slice(Math.max(0, end - rows), end)
      .map((line) => line.map((run) => ({ ...run })));
  }

  #take(token: string): void {
    if (token === '\r') return;
    if (token === '\n') {
      this.#row += 1;
      this.#lines[this.#row] ??= [];
      return;
    }
    if (!token.startsWith(ESC)) {
      this.#put(token);
      return;
    }
    const [, codes = '', command] = /\[([\d;?]*)(\w)$/.exec(token) ?? [];
    if (command === 'm') for (const code of codes.split(';')) this.#style(code || '0');
    else if (command === 'A') this.#row = Math.max(0, this.#row - Number(codes || 1));
    else if (command === 'J') this.#lines = [...this.#lines.slice(0, this.#row), []];
    else
      throw new Error(
        `the terminal picture does not know the escape sequence ${JSON.stringify(token)}`,
      );
  }

  #put(character: string): void {
    const line = this.#lines[this.#row] ?? [];
    const style = [...this.#styles].sort().join(';');
    const last = line.at(-1);
    if (last?.style === style) last.text += character;
    else line.push({ text: character, style });
  }

  #style(code: string): void {
    const reset = RESETS[code];
    if (reset === undefined) this.#styles.add(code);
    else if (reset.length === 0) this.#styles.clear();
    else for (const one of reset) this.#styles.delete(one);
  }
}

const COLUMN = 7.25;
const ROW = 17;
const PAD = { x: 18, top: 50, bottom: 18 };
/** Time for which the last frame of a film stays. */
const LAST_MS = 6_000;
/** Longest time of another one: pauses are cut. */
const PAUSE_MS = 1_000;

/** A terminal is dark, whatever the page is. */
const STYLE = [
  '.w{fill:#16181d}.x{white-space:pre;font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace;fill:#d5dae1}',
  '.s1{font-weight:700;fill:#f4f6f8}.s2{fill:#878e98}.s31{fill:#ff7b72}.s32{fill:#56d364}.s33{fill:#e3b341}.s34{fill:#79c0ff}.s35{fill:#d2a8ff}.s36{fill:#76e3ea}',
].join('');

/** Draws one frame, or a film of several that ends with the last; without motion only the last is shown. */
export function terminalPicture(
  name: string,
  caption: Caption,
  head: string,
  { columns, rows }: { readonly columns: number; readonly rows: number },
  frames: readonly Frame[],
): string {
  const width = Math.ceil(columns * COLUMN + 2 * PAD.x);
  const height = PAD.top + rows * ROW + PAD.bottom;
  const spans = frames.map(({ atMs }, at) => {
    const next = frames[at + 1]?.atMs;
    return next === undefined ? LAST_MS : Math.min(PAUSE_MS, next - atMs);
  });
  const totalMs = spans.reduce((sum, span) => sum + span, 0);
  let from = 0;
  const film = spans.map((span, at) => {
    const [start, end] = [(100 * from) / totalMs, (100 * (from + span)) / totalMs];
    from += span;
    const show = (percent: number, shown: boolean) =>
      `${percent.toFixed(3)}%{visibility:${shown ? 'visible' : 'hidden'}}`;
    return `@keyframes f${at}{${at === 0 ? '' : show(0, false)}${show(start, true)}${end < 100 ? show(end, false) : ''}}.f${at}{animation:f${at} ${fixed(totalMs / 1_000)}s step-end infinite}`;
  });
  const motion =
    frames.length < 2
      ? ''
      : `.f{visibility:hidden}.f${frames.length - 1}{visibility:visible}@media(prefers-reduced-motion:no-preference){${film.join('')}}`;
  return picture(
    name,
    caption,
    width,
    height,
    [
      `<rect class="w" x="1" y="1" width="${width - 2}" height="${height - 2}" rx="9.5"/>`,
      ...['#ff5f57', '#febc2e', '#28c840'].map(
        (fill, at) => `<circle cx="${22 + at * 18}" cy="22" r="5.5" fill="${fill}"/>`,
      ),
      `<text class="x s2" x="${width / 2}" y="26" text-anchor="middle">${escaped(head)}</text>`,
      ...frames.map(({ lines }, at) => `<g class="f f${at}">${lines.map(lineOf).join('')}</g>`),
    ],
    STYLE + motion,
  );
}

/** Places every run by its column: fonts differ in width. */
function lineOf(line: Line, row: number): string {
  let column = 0;
  const spans = line.flatMap(({ text, style }) => {
    const at = column;
    column += [...text].length;
    const shown = text.trimEnd();
    if (shown === '') return [];
    const lead = shown.length - shown.trimStart().length;
    const x = PAD.x + (at + lead) * COLUMN;
    const classes = [
      'x',
      ...style
        .split(';')
        .filter((code) => code !== '')
        .map((code) => `s${code}`),
    ];
    const word = shown.trimStart();
    return `<text class="${classes.join(' ')}" x="${fixed(x)}" y="${PAD.top + row * ROW}" textLength="${fixed([...word].length * COLUMN)}" lengthAdjust="spacingAndGlyphs">${escaped(word)}</text>`;
  });
  return spans.join('');
}
