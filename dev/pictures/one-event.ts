/** One event, and the topics on which its consumer finds the answer. */
import { arrow, box, lines, picture, text } from './draw.ts';

const WIDTH = 880;
const HEIGHT = 400;

export const oneEvent = (): string =>
  picture(
    'one-event',
    {
      title: 'One event and its terminal record',
      description:
        'The event at offset 0 of partition 2 of content-events, with key user-7, ends as exactly one of two records. A decision on content-events.decisions has the same key, the header event-id content-events-2-0, the result and the metadata unchanged; its status is SUCCESS, or ERROR with a code. A dead letter on content-events.dead-letters has the same key, the same event-id, the original bytes and the reason in its headers. Consumers read both topics with isolation level read_committed.',
    },
    WIDTH,
    HEIGHT,
    [
      box(20, 96, 268, 176, { stroke: 'kafka' }),
      text(36, 120, 'content-events', 'm b'),
      text(36, 138, 'partition 2, offset 0', 's t-muted'),
      text(36, 166, 'key    user-7', 'm'),
      ...lines(
        36,
        186,
        [
          'value  {"type": "comment",',
          '        "content": "You win!",',
          '        "metadata":',
          '          {"post": 42}}',
        ],
        'm',
        17,
      ),
      arrow(
        [
          [288, 150],
          [352, 150],
          [352, 108],
          [430, 108],
        ],
        { colour: 'good' },
      ),
      arrow(
        [
          [288, 218],
          [352, 218],
          [352, 290],
          [430, 290],
        ],
        { colour: 'bad' },
      ),
      text(360, 178, 'exactly', 'b'),
      text(360, 195, 'one of', 'b'),

      box(432, 24, 428, 172, { stroke: 'good' }),
      text(448, 48, 'content-events.decisions', 'm b'),
      text(844, 48, 'decision', 's e t-good b'),
      ...lines(
        448,
        74,
        [
          'key      user-7',
          'header   event-id: content-events-2-0',
          'value    {"status": "SUCCESS", "result": "spam",',
        ],
        'm',
        18,
      ),
      ...lines(448, 128, ['          "metadata": {"post": 42}, …}'], 'm'),
      text(448, 156, 'The metadata come back unchanged. Status ERROR: no review,', 's t-muted'),
      text(448, 173, 'and error.code has the reason.', 's t-muted'),

      box(432, 218, 428, 136, { stroke: 'bad' }),
      text(448, 242, 'content-events.dead-letters', 'm b'),
      text(844, 242, 'dead letter', 's e t-bad b'),
      ...lines(
        448,
        268,
        [
          'key      user-7',
          'headers  event-id: content-events-2-0',
          '         dead-letter-reason: no_type',
          'value    the original bytes',
        ],
        'm',
        18,
      ),
      text(
        20,
        380,
        'Read both topics with isolation.level=read_committed; outside of Kafka, event-id is the key for deduplication.',
        's t-muted',
      ),
    ],
  );
