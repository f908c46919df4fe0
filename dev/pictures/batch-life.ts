/** Life of a batch as a sequence, with the points at which a crash has an effect of its own. */
import { arrow, box, type Colour, picture, text } from './draw.ts';

const WIDTH = 900;
const TOP = 70;
const LANES = { source: 76, connector: 282, service: 420, kafka: 562 } as const;
type Lane = keyof typeof LANES;
const NOTES = 652;

interface Step {
  readonly from: Lane;
  readonly to: Lane;
  readonly label: string;
  readonly note?: string;
  readonly colour?: Colour;
}
/** A crash of the connector: the points that it may hit, and the consequence. */
interface Crash {
  readonly points: string;
  readonly effect: readonly string[];
}

const STORY: readonly (Step | Crash)[] = [
  { from: 'source', to: 'connector', label: 'records', note: 'buffered by type' },
  {
    points: 'before create',
    effect: ['Nothing is assigned: its successor', 'reads the records again.'],
  },
  { from: 'connector', to: 'service', label: 'create', colour: 'service' },
  {
    points: 'create, job: before, sent',
    effect: ['An empty batch stays at the service.', 'The records go into another one.'],
  },
  {
    from: 'connector',
    to: 'kafka',
    label: 'transaction: job, progress, offsets',
    colour: 'kafka',
  },
  {
    points: 'job: committing, after; upload: mid',
    effect: ['After review.uploadGrace the records', 'are read again, for another batch.'],
  },
  { from: 'connector', to: 'service', label: 'upload', colour: 'service' },
  {
    points: 'upload: after',
    effect: ['Its successor follows the batch', 'that the journal names.'],
  },
  { from: 'service', to: 'connector', label: 'state, then results', colour: 'service' },
  {
    points: 'download: mid; settle: before, sent',
    effect: ['The results are downloaded again;', 'settled rows are skipped.'],
  },
  {
    from: 'connector',
    to: 'kafka',
    label: 'transaction: decisions, rest of the job',
    colour: 'kafka',
  },
  {
    points: 'settle: committing, after',
    effect: ['A chunk and the shrunken job are', 'one transaction: both or none.'],
  },
  { from: 'connector', to: 'kafka', label: 'transaction: last decisions, end', colour: 'kafka' },
  { points: 'end: any', effect: ['No decision is missing, and none', 'is there twice.'] },
];

const isCrash = (entry: Step | Crash): entry is Crash => 'points' in entry;

export const batchLife = (): string => {
  const parts: string[] = [];
  let y = TOP + 34;
  for (const entry of STORY) {
    if (isCrash(entry)) {
      const x = LANES.connector;
      parts.push(
        `<path d="M${x - 5} ${y - 5}l10 10m0 -10l-10 10" stroke="var(--bad)" stroke-width="2.2"/>`,
        `<path d="M${x + 12} ${y}H${NOTES - 8}" stroke="var(--bad)" stroke-dasharray="2 4" opacity=".6"/>`,
        text(x - 14, y + 4, entry.points, 's e h t-bad'),
        ...entry.effect.map((line, at) => text(NOTES, y - 1 + at * 15, line, 's')),
      );
      y += 38;
      continue;
    }
    const { from, to, label, note, colour = 'line' } = entry;
    const [start, end] = [LANES[from], LANES[to]];
    const step = Math.sign(end - start);
    parts.push(
      arrow(
        [
          [start + step * 5, y],
          [end - step * 6, y],
        ],
        { colour },
      ),
      text(Math.min(start, end) + 14, y - 7, label, 's h'),
      ...(note === undefined ? [] : [text(LANES.connector + 14, y + 4, note, 's t-muted')]),
    );
    y += 34;
  }
  const bottom = y - 6;
  const heads: readonly (readonly [Lane, string, Colour])[] = [
    ['source', 'source topic', 'kafka'],
    ['connector', 'connector', 'ink'],
    ['service', 'service', 'service'],
    ['kafka', 'journal, decisions', 'kafka'],
  ];
  const lifelines = heads.flatMap(([lane, name, colour]) => {
    const width = lane === 'kafka' ? 136 : 104;
    // The source has no part in the rest.
    const end = lane === 'source' ? TOP + 50 : bottom;
    return [
      `<path d="M${LANES[lane]} ${TOP - 8}V${end}" stroke="var(--${colour})" opacity="${lane === 'connector' ? 1 : 0.5}"${lane === 'connector' ? ' stroke-width="2"' : ''}/>`,
      box(LANES[lane] - width / 2, TOP - 44, width, 32, { stroke: colour }),
      text(LANES[lane], TOP - 23, name, 'b c'),
    ];
  });
  return picture(
    'batch-life',
    {
      title: 'Life of a batch, and what a crash at each point costs',
      description:
        'Sequence: records are read and buffered; the batch is created at the service; a Kafka transaction writes its job to the journal with progress and offsets; the file is uploaded; state and results come back; transactions publish decisions together with the rest of the job. Red crosses mark crash points: before the job is committed an empty batch stays at the service; between job and upload the records move to a new batch after uploadGrace; later the successor follows the batch, downloads the results again and skips settled rows. No decision is missing or published twice.',
    },
    WIDTH,
    bottom + 44,
    [
      ...lifelines,
      text(NOTES, TOP - 23, '✕ a crash here', 'b t-bad'),
      ...parts,
      text(
        20,
        bottom + 26,
        'The tests kill the connector before each of its steps (docs/simulation.md).',
        's t-muted',
      ),
    ],
  );
};
