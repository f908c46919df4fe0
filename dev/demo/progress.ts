/** The counts of every pipeline, a line each; with bars where they are redrawn in place. */
import type { Screen, Style } from './screen.ts';
import { grouped, seconds } from './table.ts';
import type { PipelineName } from './topics.ts';

export interface Counts {
  readonly name: PipelineName;
  /** Records that there will be. */
  readonly total: number;
  readonly produced: number;
  /** Waiting for their batch to fill. */
  readonly buffered: number;
  /** In a batch whose outcomes are not published yet. */
  readonly atService: number;
  /** As a read_committed consumer sees them. */
  readonly published: number;
  readonly deadLettered: number;
}

interface Stage {
  readonly head: string;
  readonly of: (counts: Counts) => number;
  readonly style: Style;
  /** Character of its part of the bar. */
  readonly mark: string;
}

const PRODUCED: Stage = {
  head: 'produced',
  of: ({ produced }) => produced,
  style: 'blue',
  mark: '·',
};
const LATER: readonly Stage[] = [
  { head: 'buffered', of: ({ buffered }) => buffered, style: 'cyan', mark: '┄' },
  { head: 'at service', of: ({ atService }) => atService, style: 'yellow', mark: '─' },
  { head: 'published', of: ({ published }) => published, style: 'green', mark: '━' },
  { head: 'dead letters', of: ({ deadLettered }) => deadLettered, style: 'magenta', mark: '━' },
];
const STAGES = [PRODUCED, ...LATER];
const GAP = '  ';
const NAME_COLUMNS = 7;
const BAR_COLUMNS = 50;
const LEAST_BAR_COLUMNS = 6;
/** Width of indent, name, counts and the gaps between them. */
const COUNT_COLUMNS = STAGES.reduce(
  (sum, { head }) => sum + GAP.length + head.length,
  GAP.length + NAME_COLUMNS,
);
/** Between two plain looks at it, ms. */
const PLAIN_MS = 2_000;

export function drawProgress(
  screen: Screen,
  pipelines: readonly Counts[],
  elapsedMs: number,
  last = false,
): void {
  const line = (name: string, cells: readonly string[]) =>
    `${GAP}${name.padEnd(NAME_COLUMNS)}${GAP}${cells.join(GAP)}`;
  const heads = line(
    seconds(elapsedMs).padStart(NAME_COLUMNS - 1),
    STAGES.map(({ head, style }) => screen.paint(style, head)),
  );
  const rows = pipelines.map((counts) =>
    line(
      counts.name,
      STAGES.map(({ head, of }) => grouped(of(counts)).padStart(head.length)),
    ),
  );
  const room = Math.min(BAR_COLUMNS, screen.columns - 1 - COUNT_COLUMNS - GAP.length);
  const bars = pipelines.map((counts) =>
    room < LEAST_BAR_COLUMNS ? '' : barOf(screen, counts, room),
  );
  const withBars = rows.map((row, index) => `${row}${GAP}${bars[index]}`.trimEnd());
  screen.draw([heads, ...withBars], [heads, ...rows].join('\n'), { last, everyMs: PLAIN_MS });
}

/** From the left: what is done, what is under way, what was only produced. The rest of the bar is still to come. */
function barOf(screen: Screen, counts: Counts, columns: number): string {
  const taken = LATER.reduce((sum, { of }) => sum + of(counts), 0);
  const parts = [
    ...LATER.toReversed().map(({ of, style, mark }) => ({ count: of(counts), style, mark })),
    { ...PRODUCED, count: Math.max(0, counts.produced - taken) },
  ];
  let until = 0;
  let drawn = 0;
  return parts
    .map(({ count, style, mark }) => {
      until += count;
      const marks = Math.min(columns, Math.round((until / counts.total) * columns)) - drawn;
      drawn += marks;
      return marks === 0 ? '' : screen.paint(style, mark.repeat(marks));
    })
    .join('');
}
