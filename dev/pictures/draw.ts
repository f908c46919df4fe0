/** Parts of the SVG pictures: one look, light and dark as the reader's device is set. */

/** Content of a picture in words, for people who cannot see it. */
export interface Caption {
  readonly title: string;
  readonly description: string;
}

/** Name of the program in each picture that it has made. */
export const MADE_BY = 'npm run pictures';

const LIGHT = {
  paper: '#ffffff',
  box: '#f6f8fa',
  ink: '#1f2328',
  muted: '#59636e',
  line: '#8c959f',
  faint: '#d1d9e0',
  kafka: '#0969da',
  service: '#8250df',
  good: '#1a7f37',
  warn: '#9a6700',
  bad: '#cf222e',
};
const DARK: Readonly<Record<keyof typeof LIGHT, string>> = {
  paper: '#0d1117',
  box: '#161b22',
  ink: '#e6edf3',
  muted: '#9198a1',
  line: '#6e7681',
  faint: '#30363d',
  kafka: '#58a6ff',
  service: '#bc8cff',
  good: '#3fb950',
  warn: '#d29922',
  bad: '#ff7b72',
};
export type Colour = keyof typeof LIGHT;

const variables = (colours: Readonly<Record<string, string>>) =>
  Object.entries(colours)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';');

const STYLE = [
  `svg{${variables(LIGHT)};color-scheme:light dark}`,
  `@media(prefers-color-scheme:dark){svg{${variables(DARK)}}}`,
  'text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif;fill:var(--ink)}',
  '.m{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:12px}',
  '.m{white-space:pre}.h{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}',
  '.s{font-size:11.5px}.b{font-weight:600}.c{text-anchor:middle}.e{text-anchor:end}',
  ...Object.keys(LIGHT).map((name) => `.t-${name}{fill:var(--${name})}`),
].join('');

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export const fixed = (value: number): string => String(Math.round(value * 10) / 10);

/** Complete picture on paper with round corners. */
export function picture(
  name: string,
  { title, description }: Caption,
  width: number,
  height: number,
  parts: readonly string[],
  style = '',
): string {
  const markers = (['line', 'kafka', 'service', 'bad', 'good'] as const).map(
    (colour) =>
      `<marker id="a-${colour}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 .6 7.4 4 0 7.4z" fill="var(--${colour})"/></marker>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" xml:space="preserve" role="img" aria-labelledby="title desc" data-picture="${name}" data-made-by="${MADE_BY}">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="desc">${escaped(description)}</desc>`,
    `<style>${STYLE}${style}</style>`,
    `<defs>${markers.join('')}</defs>`,
    `<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="10" fill="var(--paper)" stroke="var(--faint)"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

/** @param classes of `m` (monospace), `s` (small), `h` (on a halo), `b` (bold), `c` (centred), `e` (ends at x), `t-<colour>` */
export const text = (x: number, y: number, content: string, classes = ''): string =>
  `<text x="${fixed(x)}" y="${fixed(y)}"${classes === '' ? '' : ` class="${classes}"`}>${escaped(content)}</text>`;

/** Lines of text, `step` apart. */
export const lines = (
  x: number,
  y: number,
  contents: readonly string[],
  classes = '',
  step = 16,
): string[] => contents.map((content, at) => text(x, y + at * step, content, classes));

export interface BoxOptions {
  readonly stroke?: Colour;
  readonly fill?: Colour;
  readonly dashed?: boolean;
  readonly radius?: number;
}

export const box = (
  x: number,
  y: number,
  width: number,
  height: number,
  { stroke = 'line', fill = 'box', dashed = false, radius = 7 }: BoxOptions = {},
): string =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${radius}" fill="var(--${fill})" stroke="var(--${stroke})"${dashed ? ' stroke-dasharray="4 3"' : ''}/>`;

/** A Kafka topic: a log of records that grows to the right. */
export const topic = (
  x: number,
  y: number,
  width: number,
  height: number,
  name: string,
  note: string,
): string[] => [
  box(x, y, width, height, { stroke: 'kafka' }),
  ...[18, 11, 4].map(
    (from) =>
      `<path d="M${x + width - from} ${y + 7}v${height - 14}" stroke="var(--kafka)" opacity=".55"/>`,
  ),
  text(x + (width - 20) / 2, y + height / 2 - 3, name, 'b c'),
  text(x + (width - 20) / 2, y + height / 2 + 14, note, 's c t-muted'),
];

/** A line with an arrow at its end, along the points. */
export const arrow = (
  points: readonly (readonly [x: number, y: number])[],
  { colour = 'line', dashed = false }: { colour?: Colour; dashed?: boolean } = {},
): string =>
  `<path d="M${points.map(([x, y]) => `${fixed(x)} ${fixed(y)}`).join('L')}" fill="none" stroke="var(--${colour})" stroke-width="1.5"${dashed ? ' stroke-dasharray="4 3"' : ''} marker-end="url(#a-${colour})"/>`;
