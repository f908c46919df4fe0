/** Order in which the on-call engineer handles alerts that fire together. */
import { ALERTS } from '../alerts/rules.ts';
import { arrow, box, type Colour, lines, picture, text } from './draw.ts';

const WIDTH = 880;
const ROW = 92;
const LINE = 17;

interface Rung {
  readonly question: string;
  readonly colour: Colour;
  readonly alerts: readonly string[];
  readonly first: readonly string[];
}

const RUNGS: readonly Rung[] = [
  {
    question: 'Is the promise at risk?',
    colour: 'bad',
    alerts: [...['BalanceBroken', 'RecordsLost', 'InternalErrors']],
    first: ['Run audit; extend the retention of', 'the source. Keep journal and group.'],
  },
  {
    question: 'Does a connector run?',
    colour: 'bad',
    alerts: [
      ...['Absent', 'InstanceDown', 'NotReady', 'LoopStuck', 'NoShards'],
      ...['RebalanceLoop', 'LogLinesDropped'],
    ],
    first: ['Look at pods, /readyz and /livez;', 'run doctor.'],
  },
  {
    question: 'Does it reach its partners?',
    colour: 'service',
    alerts: [
      ...['Unauthorized', 'ServiceUnavailable', 'ServiceErrors', 'SchemaRegistryUnavailable'],
      ...['KafkaSilent', 'TransactionsFail', 'KafkaCertificateExpires'],
    ],
    first: ['Key, service, registry, brokers:', 'repair them; work goes on by itself.'],
  },
  {
    question: 'Does work move?',
    colour: 'warn',
    alerts: ['Stalled', 'IntakeStopped', 'Paused', 'IntakePaused', 'BatchStuck', 'TypePaused'],
    first: ['Read the wait reason in the console', 'or in shards_paused.'],
  },
  {
    question: 'Are the outcomes as usual?',
    colour: 'warn',
    alerts: [
      ...['DeadLetters', 'UnreadableRecords', 'ErrorDecisions', 'ResultAnomalies'],
      ...['Resubmissions', 'OrphanedBatches', 'DecisionMixShift'],
    ],
    first: ['Look at reasons and codes; inform', 'the producer or the service.'],
  },
  {
    question: 'Is it only late?',
    colour: 'kafka',
    alerts: ['LateDecisionsFast', 'LateDecisionsSlow', 'EventTooOld'],
    first: ['A symptom: its cause is above.', 'If none fires: sizing.'],
  },
];

/** Lines of text around a height. */
const middle = (x: number, y: number, contents: readonly string[], classes: string): string[] =>
  lines(x, y + 4 - ((contents.length - 1) * LINE) / 2, contents, classes, LINE);

/** Longest line of names, in characters. */
const NAMES = 58;

function wrapped(names: readonly string[]): string[] {
  const rows: string[] = [];
  for (const name of names) {
    const last = rows.at(-1);
    if (last !== undefined && last.length + name.length + 2 <= NAMES)
      rows[rows.length - 1] = `${last}, ${name}`;
    else rows.push(name);
  }
  return rows.map((row, at) => (at === rows.length - 1 ? row : `${row},`));
}

/** @throws Error when an alert has no place, or several */
export function firstAlert(): string {
  const named = RUNGS.flatMap(({ alerts }) => alerts.map((name) => `ContentReview${name}`));
  const missing = ALERTS.map(({ name }) => name as string).filter(
    (name) => named.filter((one) => one === name).length !== 1,
  );
  if (missing.length > 0 || named.length !== ALERTS.length)
    throw new Error(`dev/pictures/first-alert.ts places other alerts than exist: ${missing}`);
  return picture(
    'first-alert',
    {
      title: 'Which alert first',
      description: `When several alerts fire, the first question with a firing alert is the one to begin with. ${RUNGS.map(
        ({ question, alerts, first }, at) =>
          `${at + 1}. ${question} ${alerts.join(', ')}. ${first.join(' ')}`,
      ).join(' ')}`,
    },
    WIDTH,
    RUNGS.length * ROW + 64,
    [
      text(
        20,
        34,
        'Several alerts fire: begin at the top. A row often causes alerts of the rows below.',
        'b',
      ),
      ...RUNGS.flatMap(({ question, colour, alerts, first }, at) => {
        const y = 54 + at * ROW;
        return [
          box(20, y, 208, 68, { stroke: colour }),
          text(36, y + 38, `${at + 1}`, `b t-${colour}`),
          ...middle(54, y + 34, twoLines(question), 'b'),
          ...middle(252, y + 34, wrapped(alerts), 's'),
          arrow([
            [612, y + 34],
            [634, y + 34],
          ]),
          ...middle(646, y + 34, first, 's'),
          ...(at === RUNGS.length - 1
            ? []
            : [
                arrow(
                  [
                    [124, y + 69],
                    [124, y + ROW - 2],
                  ],
                  {},
                ),
                text(132, y + 84, 'no alert here', 's t-muted'),
              ]),
        ];
      }),
    ],
  );
}

function twoLines(question: string): string[] {
  if (question.length < 20) return [question];
  const at = question.indexOf(' ', question.length / 2 - 3);
  return [question.slice(0, at), question.slice(at + 1)];
}
