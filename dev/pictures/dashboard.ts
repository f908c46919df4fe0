/**
 * The first rows of the dashboard: panels, expressions, units and legends of its file, with the data
 * of a Prometheus. Drawn here, because Grafana is in no registry of packages.
 */
import { readFileSync } from 'node:fs';
import { DASHBOARD_FILE } from '../dashboard/dashboard.ts';
import { chart, formatted, type Series } from './chart.ts';
import { box, type Colour, picture, text } from './draw.ts';

interface Panel {
  readonly type: 'row' | 'stat' | 'timeseries';
  readonly title: string;
  readonly gridPos?: { readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit?: string;
      readonly thresholds?: {
        readonly steps: readonly { readonly value: number | null; readonly color: string }[];
      };
      readonly custom?: {
        readonly stacking?: { readonly mode: string };
        readonly scaleDistribution?: { readonly type: string };
      };
    };
  };
}

export interface Span {
  /** Seconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

const ROWS = 3;
const WIDTH = 900;
const MARGIN = 14;
const GAP = 8;
const HEIGHTS = { row: 30, stat: 78, timeseries: 176 };
const STEP_SECONDS = 2;
/** Several scrapes of the demo, which takes one a second. */
const RATE_INTERVAL = '10s';

interface Matrix {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

async function seriesOf(
  url: string,
  { targets = [] }: Panel,
  { from, to }: Span,
): Promise<Series[]> {
  const answers = await Promise.all(
    targets.map(async ({ expr, legendFormat }) => {
      const query = expr
        .replaceAll(/\$(?:job|instance|pipeline)\b/g, '.*')
        .replaceAll('$__rate_interval', RATE_INTERVAL)
        .replaceAll('$__range', `${Math.ceil(to - from)}s`);
      const parameters = new URLSearchParams({
        query,
        start: String(from),
        end: String(to),
        step: String(STEP_SECONDS),
      });
      const response = await fetch(`${url}/api/v1/query_range?${parameters}`);
      const { data, error } = (await response.json()) as {
        data?: { result: Matrix[] };
        error?: string;
      };
      if (data === undefined) throw new Error(`${query}: ${error}`);
      return data.result.map(({ metric, values }) => ({
        name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label) => metric[label] ?? '').trim(),
        points: values
          .map(([at, value]) => [at, Number(value.replace('Inf', 'Infinity'))] as const)
          .filter(([, value]) => Number.isFinite(value)),
      }));
    }),
  );
  return answers.flat().filter(({ name, points }) => name !== '' && points.length > 0);
}

/** @param url of the Prometheus */
export async function dashboardPicture(url: string, span: Span): Promise<string> {
  const { panels } = JSON.parse(readFileSync(DASHBOARD_FILE, 'utf8')) as { panels: Panel[] };
  const parts: string[] = [];
  const titles: string[] = [];
  let rows = 0;
  let [x, y, height] = [MARGIN, 18, 0];
  for (const panel of panels) {
    if (panel.type === 'row') {
      if (++rows > ROWS) break;
      y += height;
      parts.push(text(MARGIN + 2, y + 19, panel.title, 'b'));
      [x, y, height] = [MARGIN, y + HEIGHTS.row, 0];
      continue;
    }
    titles.push(panel.title);
    const width = ((WIDTH - 2 * MARGIN + GAP) * (panel.gridPos?.w ?? 8)) / 24 - GAP;
    if (x + width > WIDTH - MARGIN + 1) [x, y] = [MARGIN, y + height];
    const area = { x: Math.round(x), y, width: Math.round(width), height: HEIGHTS[panel.type] };
    const { unit = 'short', custom, thresholds } = panel.fieldConfig?.defaults ?? {};
    const series = await seriesOf(url, panel, span);
    parts.push(
      ...(panel.type === 'stat'
        ? stat(area, panel.title, unit, series, colourBy(thresholds?.steps ?? []))
        : chart(
            area,
            {
              title: panel.title,
              unit,
              stacked: custom?.stacking?.mode === 'normal',
              logarithmic: custom?.scaleDistribution?.type === 'log',
              ...span,
            },
            series,
          )),
    );
    height = HEIGHTS[panel.type] + GAP;
    x += width + GAP;
  }
  return picture(
    'dashboard',
    {
      title: 'Panels of the dashboard',
      description: `The first three rows of the dashboard over a run of the demo in which the service was stopped, the broker frozen, the connector killed and poison written: ${titles.join(', ')}.`,
    },
    WIDTH,
    y + height + MARGIN,
    parts,
    '.l{font-size:10px}.n{font-size:19px;font-weight:600}',
  );
}

const COLOURS: Readonly<Record<string, Colour>> = { green: 'good', orange: 'warn', red: 'bad' };

/** Colour of the last threshold that a value reaches, as Grafana chooses it. */
const colourBy =
  (steps: readonly { readonly value: number | null; readonly color: string }[]) =>
  (value: number): Colour =>
    COLOURS[steps.findLast((step) => step.value === null || value >= step.value)?.color ?? ''] ??
    'ink';

/** The last values. */
function stat(
  { x, y, width, height }: { x: number; y: number; width: number; height: number },
  title: string,
  unit: string,
  series: readonly Series[],
  colourOf: (value: number) => Colour,
): string[] {
  const step = width / Math.max(1, series.length);
  return [
    box(x, y, width, height, { stroke: 'faint', radius: 5 }),
    text(x + 12, y + 19, title, 'b l'),
    ...series.flatMap(({ name, points }, at) => {
      const value = points.at(-1)?.[1] ?? Number.NaN;
      const middle = x + step * (at + 0.5);
      return [
        text(middle, y + 48, formatted(value, unit), `n c t-${colourOf(value)}`),
        text(middle, y + 66, name, 'l c t-muted'),
      ];
    }),
  ];
}
