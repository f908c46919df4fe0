/** Architecture: the connector between Kafka's topics and the Content Review Service. */
import { arrow, box, picture, text, topic } from './draw.ts';

const WIDTH = 900;
const HEIGHT = 372;
const STAGES = [
  ['decode', 'map, filter'],
  ['buffer', 'by type'],
  ['submit', 'one CSV'],
  ['track', 'with backoff'],
  ['settle', 'row by row'],
] as const;
const STAGE = { width: 78, height: 48, y: 88, step: 90 };

const centre = (stage: number) => 224 + stage * STAGE.step + STAGE.width / 2;

export const architecture = (): string => {
  const below = STAGE.y + STAGE.height;
  return picture(
    'architecture',
    {
      title: 'Architecture of the Content Review Connector',
      description:
        'Content events come from a Kafka topic. The connector decodes them, buffers them by content type, submits each batch as one CSV file to the Content Review Service, tracks it and settles its results. Decisions go to the output topic, records that cannot be submitted to the dead-letter topic. One Kafka transaction holds decisions together with the state of their batch in the journal topic.',
    },
    WIDTH,
    HEIGHT,
    [
      ...topic(20, 80, 152, 64, 'content events', 'Kafka topic'),
      ...topic(716, 80, 152, 64, 'decisions', 'Kafka topic'),
      box(208, 36, 464, 128, { fill: 'paper', stroke: 'ink' }),
      text(224, 60, 'connector', 'b'),
      text(656, 60, 'any number of replicas, no state of its own', 's e t-muted'),
      ...STAGES.flatMap(([name, note], at) => {
        const x = 224 + at * STAGE.step;
        return [
          box(x, STAGE.y, STAGE.width, STAGE.height),
          text(centre(at), STAGE.y + 21, name, 'b c'),
          text(centre(at), STAGE.y + 37, note, 's c t-muted'),
          ...(at === 0
            ? []
            : [
                arrow([
                  [x - STAGE.step + STAGE.width + 1, STAGE.y + 24],
                  [x - 1, STAGE.y + 24],
                ]),
              ]),
        ];
      }),
      arrow(
        [
          [172, 112],
          [222, 112],
        ],
        { colour: 'kafka' },
      ),
      arrow(
        [
          [664, 112],
          [714, 112],
        ],
        { colour: 'kafka' },
      ),

      // Dead letters.
      arrow(
        [
          [centre(0), below],
          [centre(0), 254],
        ],
        { colour: 'kafka' },
      ),
      ...topic(187, 256, 152, 64, 'dead letters', 'Kafka topic'),
      text(centre(0) - 8, 214, 'with the reason', 's e t-muted'),

      // The service.
      box(372, 256, 180, 64, { stroke: 'service' }),
      text(462, 285, 'Content Review', 'b c'),
      text(462, 302, 'Service', 'b c'),
      arrow(
        [
          [centre(2), below],
          [centre(2), 254],
        ],
        { colour: 'service' },
      ),
      text(centre(2) - 8, 214, 'upload', 's e t-muted'),
      arrow(
        [
          [centre(3) - 14, 254],
          [centre(3) - 14, below + 2],
        ],
        { colour: 'service' },
      ),
      text(centre(3) - 22, 214, 'state', 's e t-muted'),
      arrow(
        [
          [552, 288],
          [centre(4) - 16, 288],
          [centre(4) - 16, below + 2],
        ],
        { colour: 'service' },
      ),
      text(centre(4) - 24, 214, 'results', 's e t-muted'),

      // The journal, and the transaction that it shares with the output.
      ...topic(716, 256, 152, 64, 'journal', 'Kafka topic'),
      `<rect x="700" y="66" width="184" height="270" rx="8" fill="none" stroke="var(--good)" stroke-dasharray="5 4"/>`,
      arrow(
        [
          [centre(4) + 14, below],
          [centre(4) + 14, 288],
          [714, 288],
        ],
        { colour: 'kafka' },
      ),
      text(792, 54, 'one Kafka transaction', 's c b t-good'),
      text(792, 196, 'decisions and the state', 's c t-good'),
      text(792, 212, 'of their batch: both or none', 's c t-good'),
      text(440, 350, 'Exactly one terminal record for each event, whatever crashes.', 'c t-muted'),
    ],
  );
};
