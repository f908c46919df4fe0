/** Charts of the dashboard picture: lines over time, with an axis, a grid and a legend. */
import { box, fixed, text } from './draw.ts';

export interface Series {
  readonly name: string;
  /** Seconds since the epoch, value. */
  readonly points: readonly (readonly [at: number, value: number])[];
}

export interface ChartOptions {
  readonly title: string;
  readonly unit: string;
  readonly stacked: boolean;
  readonly logarithmic: boolean;
  readonly from: number;
  readonly to: number;
}

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const COLOURS = [
  '#3b82f6',
  '#10a37f',
  '#e0892b',
  '#c2528b',
  '#8b6cef',
  '#7f8c3a',
  '#2ba3b8',
  '#d2554a',
];
const PAD = { left: 58, right: 14, top: 36, bottom: 46 };
const LEGEND_CHARACTERS = 46;

export function formatted(value: number, unit: string): string {
  if (Number.isNaN(value)) return 'no data';
  const short = (number: number) => String(Number(number.toPrecision(3)));
  if (unit === 'percentunit') return `${short(value * 100)} %`;
  if (unit === 'bytes')
    return value >= 2 ** 20 ? `${short(value / 2 ** 20)} MiB` : `${short(value / 1_024)} KiB`;
  if (unit === 's')
    return value !== 0 && value < 1 ? `${short(value * 1_000)} ms` : `${short(value)} s`;
  const shown = value >= 1_000 ? `${short(value / 1_000)} k` : short(value);
  return unit === 'ops' ? `${shown}/s` : shown;
}

/** Next larger value of 1, 2 or 5 times a power of ten. */
function ceiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value * 0.999) ?? 10) * power;
}

export function chart(area: Area, options: ChartOptions, given: readonly Series[]): string[] {
  const { title, unit, logarithmic, from, to } = options;
  const series = options.stacked ? stack(given) : given;
  const [left, right] = [area.x + PAD.left, area.x + area.width - PAD.right];
  const [top, bottom] = [area.y + PAD.top, area.y + area.height - PAD.bottom];
  const values = series.flatMap(({ points }) => points.map(([, value]) => value));
  const most = Math.max(0, ...values);
  const positive = values.filter((value) => value > 0);
  const low = logarithmic ? 10 ** Math.floor(Math.log10(Math.min(...positive, 1))) : 0;
  const high = logarithmic
    ? 10 ** Math.ceil(Math.log10(Math.max(...positive, low * 10)))
    : most === 0
      ? 1
      : unit === 'bytes'
        ? ceiling(most / 1_024) * 1_024
        : ceiling(most);
  const share = (value: number) =>
    logarithmic
      ? Math.log10(Math.max(value, low) / low) / Math.log10(high / low)
      : (value - low) / (high - low);
  const x = (at: number) => left + ((at - from) / (to - from)) * (right - left);
  const y = (value: number) => bottom - share(value) * (bottom - top);
  const ticks = logarithmic
    ? Array.from(
        { length: Math.round(Math.log10(high / low)) + 1 },
        (_, power) => low * 10 ** power,
      )
    : [0, high / 2, high];
  const shownTicks = ticks.length > 4 ? ticks.filter((_, at) => at % 2 === 0) : ticks;
  const curves = series.flatMap(({ points }, at) => {
    const colour = COLOURS[at % COLOURS.length];
    return pieces(points).flatMap((piece) => {
      const path = piece.map(([when, value]) => `${fixed(x(when))} ${fixed(y(value))}`).join('L');
      const [first, last] = [piece[0]?.[0] ?? from, piece.at(-1)?.[0] ?? to];
      return [
        `<path d="M${path}L${fixed(x(last))} ${bottom}L${fixed(x(first))} ${bottom}z" fill="${colour}" opacity="${options.stacked ? 0.22 : 0.07}"/>`,
        `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="1.4" stroke-linejoin="round"/>`,
      ];
    });
  });
  return [
    box(area.x, area.y, area.width, area.height, { stroke: 'faint', radius: 5 }),
    text(area.x + 12, area.y + 21, title, 'b s'),
    ...shownTicks.flatMap((tick) => [
      `<path d="M${left} ${fixed(y(tick))}H${right}" stroke="var(--faint)"/>`,
      text(left - 6, y(tick) + 4, formatted(tick, unit), 'l e t-muted'),
    ]),
    ...[0, 0.5, 1].map((part) =>
      text(
        left + part * (right - left),
        bottom + 14,
        clock(from, from + part * (to - from)),
        `l t-muted ${part === 0 ? '' : part === 1 ? 'e' : 'c'}`,
      ),
    ),
    ...curves,
    ...legend(
      area,
      series.map(({ name }) => name),
    ),
  ];
}

/** Minutes and seconds since the start. */
function clock(from: number, at: number): string {
  const seconds = Math.round(at - from);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

function legend({ x, y, height }: Area, names: readonly string[]): string[] {
  const parts: string[] = [];
  let used = 0;
  for (const [at, name] of names.entries()) {
    const more = names.length - at;
    if (used + name.length + 4 > LEGEND_CHARACTERS) {
      parts.push(text(x + 14 + used * 5.6, y + height - 12, `+ ${more}`, 'l t-muted'));
      break;
    }
    const from = x + 14 + used * 5.6;
    parts.push(
      `<rect x="${fixed(from)}" y="${y + height - 20}" width="9" height="9" rx="2" fill="${COLOURS[at % COLOURS.length]}"/>`,
      text(from + 13, y + height - 12, name, 'l'),
    );
    used += name.length + 4;
  }
  return parts;
}

/** Adds up the series, the last on top. */
function stack(series: readonly Series[]): Series[] {
  const below = new Map<number, number>();
  return series.map(({ name, points }) => ({
    name,
    points: points.map(([at, value]) => {
      const sum = (below.get(at) ?? 0) + value;
      below.set(at, sum);
      return [at, sum] as const;
    }),
  }));
}

/** Points without gaps between them. */
function pieces(points: Series['points']): Series['points'][] {
  const found: (readonly [number, number])[][] = [];
  const step = Math.min(...points.slice(1).map(([at], index) => at - (points[index]?.[0] ?? at)));
  let last: number | undefined;
  for (const point of points) {
    if (last === undefined || point[0] - last > step * 1.5) found.push([]);
    found.at(-1)?.push(point);
    last = point[0];
  }
  return found;
}
