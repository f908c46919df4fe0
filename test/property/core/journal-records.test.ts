import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CoordinateSet, type JobRecord } from '../../../src/core/journal/job.ts';
import {
  JOURNAL_FORMAT,
  JournalFormatError,
  readJournalRecord,
  writeJob,
  writeJobEnd,
  writeLeft,
  writeMeta,
  writeOwner,
  writeProgress,
  writeQuota,
} from '../../../src/core/journal/journal-records.ts';
import { OffsetSet } from '../../../src/core/offset-set.ts';
import type { JournalWrite } from '../../../src/core/ports/kafka.ts';
import { anyCharacter } from '../../support/any-character.ts';

const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const text = fc.string({ unit: anyCharacter, maxLength: 30 });
/** Job id. The connector uses UUIDs, but an id may be any string without a slash. */
const id = fc.string({ minLength: 1, maxLength: 20 }).filter((one) => !one.includes('/'));
const offsets = fc.uniqueArray(fc.nat({ max: 3000 }), { maxLength: 40 });
const plainly = { noNullPrototype: true };

const meta = fc.record({ group: text, source: text, shards: count, kind: text }, plainly);
const rowsAt = fc.tuple(count, count);
const quota = fc.record({ seconds: fc.array(rowsAt, { maxLength: 62 }), day: rowsAt }, plainly);
const owner = fc.record({ instance: text, claim: text, atMs: count }, plainly);
const progress = fc.record(
  {
    seq: count,
    watermark: count,
    claimed: offsets,
    replay: count,
    read: count,
    last: fc.option(fc.record({ offset: count, timestampMs: fc.maxSafeInteger() }, plainly)),
    start: count,
  },
  plainly,
);
const sources = fc.array(
  fc.record(
    {
      partition: fc.nat(),
      replay: fc.nat(),
      offsets: offsets.map((some) => OffsetSet.of(some).encode()),
    },
    plainly,
  ),
  { maxLength: 4 },
);
const job: fc.Arbitrary<JobRecord> = fc.record(
  {
    id,
    remoteId: text,
    kind: text,
    type: text,
    attempt: count,
    depth: count,
    spent: count,
    root: text,
    sequence: count,
    count,
    bytes: count,
    createdMs: count,
    oldestEventMs: fc.maxSafeInteger(),
    newestEventMs: fc.maxSafeInteger(),
    rowKey: fc.constant('AAECAwQFBgcICQoLDA0ODw'),
    sources,
  },
  plainly,
);
const places = fc.array(
  fc.record({ partition: fc.nat({ max: 9 }), offset: fc.nat({ max: 3000 }) }, plainly),
  { maxLength: 40 },
);

const read = ({ key, value }: JournalWrite) => readJournalRecord(key, value);

test('every record of the journal is read as it was written', () => {
  fc.assert(
    fc.property(meta, (one) =>
      assert.deepEqual(read(writeMeta(one)), {
        entry: 'meta',
        value: { ...one, format: JOURNAL_FORMAT },
      }),
    ),
  );
  fc.assert(
    fc.property(owner, (one) =>
      assert.deepEqual(read(writeOwner(one)), { entry: 'owner', value: one }),
    ),
  );
  fc.assert(
    fc.property(quota, (one) =>
      assert.deepEqual(read(writeQuota(one)), { entry: 'quota', value: one }),
    ),
  );
  fc.assert(
    fc.property(job, (one) =>
      assert.deepEqual(read(writeJob(one)), { entry: 'job', id: one.id, value: one }),
    ),
  );
  fc.assert(
    fc.property(id, places, (name, some) => {
      const found = read(writeLeft(name, CoordinateSet.of(some)));
      assert.ok(found.entry === 'left' && found.value !== null);
      assert.equal(found.id, name);
      assert.deepEqual([...found.value], [...CoordinateSet.of(some)]);
      assert.equal(found.value.size, CoordinateSet.of(some).size);
    }),
  );
  fc.assert(
    fc.property(fc.nat(), progress, (partition, { claimed, ...rest }) => {
      const found = read(writeProgress(partition, { ...rest, claimed: OffsetSet.of(claimed) }));
      assert.ok(found.entry === 'progress');
      assert.equal(found.partition, partition);
      assert.deepEqual(
        { ...found.value, claimed: [...found.value.claimed] },
        { ...rest, claimed: [...OffsetSet.of(claimed)] },
      );
    }),
  );
  fc.assert(
    fc.property(id, (name) => {
      const [end, left] = writeJobEnd(name);
      assert.deepEqual(read(end), { entry: 'job', id: name, value: null });
      assert.deepEqual(read(left), { entry: 'left', id: name, value: null });
    }),
  );
});

test('reading any record returns an entry or throws a JournalFormatError', () => {
  const key = fc.oneof(
    fc.constantFrom('meta', 'owner', 'quota', 'progress/0', 'job/a', 'job/a/left'),
    fc
      .array(fc.constantFrom('meta', 'owner', 'progress', 'job', 'left', '', '0', 'x'), {
        maxLength: 4,
      })
      .map((parts) => parts.join('/')),
    fc.string(),
  );
  const field = fc.constantFrom(
    'v',
    'left',
    'sources',
    'last',
    'start',
    'claimed',
    'seq',
    'group',
    'shards',
    'id',
    'watermark',
    'offsets',
  );
  const value = fc.option(
    fc.oneof(
      fc.string(),
      fc.json(),
      fc.dictionary(field, fc.jsonValue()).map((object) => JSON.stringify({ v: 1, ...object })),
    ),
  );
  fc.assert(
    fc.property(key, value, (name, hostile) => {
      try {
        readJournalRecord(name, hostile);
      } catch (error) {
        assert.ok(error instanceof JournalFormatError, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

test('a value with a broken or missing field is refused with the key and the field, but without the content', () => {
  const secret = 'SECRET-CONTENT';
  for (const { key, value } of samples()) {
    const whole = JSON.parse(value as string) as Record<string, unknown>;
    for (const field of Object.keys(whole)) {
      // Skips the id of the job, because the key contains it.
      if (field === 'id') continue;
      const isText = typeof whole[field] === 'string' && field !== 'claimed';
      // Any number is a valid event timestamp, because producers may set any timestamp.
      const numbers = field.endsWith('EventMs') ? [] : [-1, 1.5];
      const wrong = isText ? [7, null, { a: secret }] : [secret, { a: secret }, ...numbers];
      for (const broken of [...wrong, undefined]) {
        assert.throws(
          () => readJournalRecord(key, JSON.stringify({ ...whole, [field]: broken })),
          (error) => {
            assert.ok(error instanceof JournalFormatError, `${key} ${field}: ${String(error)}`);
            assert.ok(
              error.message.includes(JSON.stringify(key)) || error.message.includes(`"${key}.`),
              error.message,
            );
            assert.ok(!error.message.includes(secret), error.message);
            return true;
          },
        );
      }
    }
  }
});

test('a long list of broken parts is refused at the first part, without much memory', () => {
  const text = `{"v":1,"left":[${Array(200_000).fill(0).join()}]}`;
  const before = process.memoryUsage().heapUsed;
  assert.throws(() => readJournalRecord('job/a/left', text), /no valid field "left\.0"/);
  assert.ok(process.memoryUsage().heapUsed - before < 64 * 1024 * 1024);
});

test('broken parts inside lists are refused too', () => {
  const { value } = writeJob(sampleJob());
  const whole = JSON.parse(value as string) as { sources: object[] };
  for (const broken of [
    [7],
    [null],
    [{}],
    [{ partition: 0, replay: 0, offsets: 'AP//' }],
    [{ partition: -1, replay: 0, offsets: '' }],
  ]) {
    assert.throws(
      () => readJournalRecord('job/a', JSON.stringify({ ...whole, sources: broken })),
      JournalFormatError,
      JSON.stringify(broken),
    );
  }
  for (const broken of [[7], [[0]], [[0, 7]], [['0', '']], [[0, '/w==']], [{ 0: '' }]]) {
    assert.throws(
      () => readJournalRecord('job/a/left', JSON.stringify({ v: 1, left: broken })),
      JournalFormatError,
      JSON.stringify(broken),
    );
  }
  const last = { offset: 'x', timestampMs: 1 };
  const progressOf = (more: object) =>
    JSON.stringify({
      v: 1,
      seq: 1,
      watermark: 1,
      claimed: '',
      replay: 0,
      read: 1,
      last: null,
      start: 0,
      ...more,
    });
  assert.throws(
    () => readJournalRecord('progress/3', progressOf({ last })),
    /"progress\/3" has no valid field "last\.offset"/,
  );
  assert.throws(
    () => readJournalRecord('progress/3', progressOf({ claimed: '/w==' })),
    /"progress\/3" has an invalid offset set/,
  );
  assert.throws(
    () => readJournalRecord('progress/3', progressOf({ start: null })),
    /"progress\/3" has no valid field "start"/,
  );
  assert.equal(readJournalRecord('progress/3', progressOf({})).entry, 'progress');
});

test('a newer format is refused with the remedy, for any other contents of the record', () => {
  for (const { key } of samples()) {
    assert.throws(
      () => readJournalRecord(key, JSON.stringify({ v: JOURNAL_FORMAT + 1, whatever: true })),
      (error) =>
        error instanceof JournalFormatError &&
        error.message.includes(`${JSON.stringify(key)} has format ${JOURNAL_FORMAT + 1}`) &&
        /Run the version that wrote it/.test(error.message),
    );
  }
});

test('fields of a later minor version are ignored', () => {
  for (const { key, value } of samples()) {
    const whole = JSON.parse(value as string) as object;
    const extended = readJournalRecord(key, JSON.stringify({ ...whole, addedLater: [1, 2] }));
    assert.deepEqual(extended, readJournalRecord(key, value));
  }
});

test('an unknown key is refused, with its name in the error', () => {
  for (const key of [
    '',
    'metas',
    'meta/1',
    'owner/x',
    'progress',
    'progress/',
    'progress/x',
    'progress/-1',
    'progress/1/2',
    'job',
    'job/',
    'job//left',
    'job/a/right',
    'job/a/left/x',
    'JOB/a',
  ]) {
    assert.throws(
      () => readJournalRecord(key, '{"v":1}'),
      (error) =>
        error instanceof JournalFormatError &&
        error.message.includes(`unknown key ${JSON.stringify(key)}`),
      key,
    );
  }
});

test('errors quote only the beginning of a long key', () => {
  assert.throws(
    () => readJournalRecord('x'.repeat(100_000), '{}'),
    (error) => error instanceof JournalFormatError && error.message.length < 400,
  );
});

test('only jobs have tombstones', () => {
  for (const key of ['meta', 'owner', 'progress/0']) {
    assert.throws(
      () => readJournalRecord(key, null),
      new RegExp(`tombstone for "${key}", a record that must never be deleted`),
    );
  }
});

test('records of another application are reported as such', () => {
  for (const value of ['hello', '[1]', 'null', '"text"', '7']) {
    assert.throws(
      () => readJournalRecord('meta', value),
      /is not (a )?JSON.*: is another application writing to this topic\?/,
    );
  }
});

function sampleJob(): JobRecord {
  const line = {
    remoteId: 'r',
    kind: 'k',
    type: 't',
    attempt: 1,
    depth: 0,
    spent: 1,
    root: 'a',
    sequence: 1,
  };
  const source = { partition: 0, replay: 0, offsets: OffsetSet.of([1, 5, 9]).encode() };
  return {
    id: 'a',
    ...line,
    count: 3,
    bytes: 10,
    createdMs: 5,
    oldestEventMs: 4,
    newestEventMs: 4,
    sources: [source],
  };
}

function samples(): JournalWrite[] {
  return [
    writeMeta({ group: 'g', source: 's', shards: 4, kind: 'k' }),
    writeOwner({ instance: 'i', claim: 'c', atMs: 1 }),
    writeProgress(2, {
      seq: 1,
      watermark: 5,
      claimed: OffsetSet.of([7]),
      replay: 1,
      read: 9,
      last: { offset: 7, timestampMs: 8 },
      start: 5,
    }),
    writeJob(sampleJob()),
    writeLeft('a', CoordinateSet.of([{ partition: 0, offset: 5 }])),
  ];
}
