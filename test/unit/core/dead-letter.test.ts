import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEAD_LETTER_HEADERS,
  type DeadLetterContext,
  deadLetter,
  eventId,
} from '../../../src/core/outcome/dead-letter.ts';
import type { RecordHeaders, SourceRecord } from '../../../src/core/record.ts';
import { headerList } from '../../support/records/headers.ts';

const context: DeadLetterContext = {
  topic: 'content',
  stage: 'decode',
  replay: 0,
  maxValueBytes: 100,
};
const poison = { reason: 'not_json', message: 'the value is not JSON' } as const;

function record(more: Partial<SourceRecord> = {}): SourceRecord {
  const value = Buffer.from([0, 255, 10, 13]);
  return {
    partition: 3,
    offset: 12,
    timestampMs: 5,
    key: Buffer.from([1, 0]),
    value,
    headers: [],
    ...more,
  };
}

const NAMED = {
  'dead-letter-reason': 'not_json',
  'dead-letter-message': 'the value is not JSON',
  'dead-letter-stage': 'decode',
  'dead-letter-topic': 'content',
  'dead-letter-partition': '3',
  'dead-letter-offset': '12',
  'event-id': 'content-3-12',
};
const REASONS = headerList(NAMED);

test('a dead letter has the unchanged key, value and headers of the record, and its reason, coordinates and time', () => {
  const headers: RecordHeaders = [
    ['many', Buffer.from('1')],
    ['toString', Buffer.from('abc')],
    ['many', null],
    ['content-type', 'text/plain'],
    ['many', Buffer.from('2')],
  ];
  const source = record({ headers });
  const letter = deadLetter(source, poison, context);
  assert.equal(letter.key, source.key);
  assert.equal(letter.value, source.value);
  assert.deepEqual(letter.headers, [...headers, ...REASONS]);
  assert.deepEqual(source.headers, headers, 'the record itself is unchanged');
});

test('a producer cannot forge the headers of a dead letter', () => {
  const forged = Object.values(DEAD_LETTER_HEADERS).flatMap(
    (name): RecordHeaders => [
      [name, 'forged'],
      [name, null],
    ],
  );
  const letter = deadLetter(record({ headers: [...forged, ['own', 'kept']] }), poison, context);
  assert.deepEqual(letter.headers, [['own', 'kept'], ...REASONS]);
});

test('an event id is stable, and changes only with a reset of the group', () => {
  const at = { partition: 3, offset: 12 };
  assert.equal(eventId('content', at, 0), 'content-3-12');
  assert.equal(eventId('content', at, 2), 'content-3-12#2');
  assert.deepEqual(deadLetter(record(), poison, { ...context, replay: 2 }).headers?.at(-1), [
    DEAD_LETTER_HEADERS.eventId,
    'content-3-12#2',
  ]);
});

test('a null value and a null key stay null, and do not count as omitted', () => {
  const letter = deadLetter(record({ key: null, value: null }), poison, context);
  assert.deepEqual([letter.key, letter.value, letter.headers], [null, null, REASONS]);
});

test('a value is omitted and its size reported only if it is larger than the dead-letter topic allows', () => {
  const kept = deadLetter(record({ value: Buffer.alloc(100, 1) }), poison, context);
  assert.deepEqual([kept.value?.length, kept.headers], [100, REASONS]);
  const omitted = deadLetter(record({ value: Buffer.alloc(101, 1) }), poison, context);
  assert.equal(omitted.value, null);
  assert.deepEqual(omitted.headers, [...REASONS, ['dead-letter-value-omitted-bytes', '101']]);
});

test('the dead letter of a record that the source no longer has contains only its coordinates', () => {
  const unavailable = { reason: 'source_unavailable', message: 'gone' } as const;
  assert.deepEqual(
    deadLetter({ partition: 3, offset: 12 }, unavailable, {
      ...context,
      stage: 'rewind',
      replay: 1,
    }),
    {
      key: null,
      value: null,
      headers: headerList({
        ...NAMED,
        'dead-letter-reason': 'source_unavailable',
        'dead-letter-message': 'gone',
        'dead-letter-stage': 'rewind',
        'event-id': 'content-3-12#1',
      }),
    },
  );
});
