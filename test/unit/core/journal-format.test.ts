/**
 * Format 1 of the journal as it is stored in users' topics. This test fixes the exact keys and values, because other
 * versions read them in the same group and after a rollback. A field may be added if every reader works without it.
 * Any other change requires a new format (docs/upgrading.md).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoordinateSet } from '../../../src/core/journal/job.ts';
import {
  JOURNAL_FORMAT,
  type JournalEntry,
  type PartitionProgress,
  readJournalRecord,
  writeAcknowledgement,
  writeControl,
  writeJob,
  writeJobEnd,
  writeLeft,
  writeMeta,
  writeOwner,
  writeProgress,
} from '../../../src/core/journal/journal-records.ts';
import { OffsetSet } from '../../../src/core/offset-set.ts';
import type { JournalWrite } from '../../../src/core/ports/kafka.ts';

const META = { group: 'g', source: 's', shards: 4, kind: 'review' };
const PROGRESS: PartitionProgress = {
  seq: 1,
  watermark: 5,
  claimed: OffsetSet.of([7, 8, 9, 12]),
  replay: 1,
  read: 13,
  last: { offset: 12, timestampMs: 8 },
  start: 3,
};
const JOB = {
  id: 'a',
  remoteId: 'r',
  kind: 'review',
  type: 'post',
  attempt: 1,
  depth: 0,
  spent: 1,
  root: 'a',
  sequence: 1,
  count: 3,
  bytes: 10,
  createdMs: 5,
  oldestEventMs: -4,
  newestEventMs: 3,
  sources: [{ partition: 0, replay: 0, offsets: OffsetSet.of([1, 5, 9]).encode() }],
};
const LEFT = CoordinateSet.of([
  { partition: 0, offset: 5 },
  { partition: 4, offset: 70 },
]);

/** Journal writes, each with its key and value since the first version. */
const FORMAT_1: readonly (readonly [JournalWrite, key: string, value: string | null])[] = [
  [writeMeta(META), 'meta', '{"v":1,"group":"g","source":"s","shards":4,"kind":"review"}'],
  [
    writeOwner({ instance: 'i', claim: 'c', atMs: 1 }),
    'owner',
    '{"v":1,"instance":"i","claim":"c","atMs":1}',
  ],
  [
    writeProgress(2, PROGRESS),
    'progress/2',
    '{"v":1,"seq":1,"watermark":5,"claimed":"AACAEw==","replay":1,"read":13,"last":{"offset":12,"timestampMs":8},"start":3}',
  ],
  [
    writeProgress(3, { ...PROGRESS, inherited: true }),
    'progress/3',
    '{"v":1,"seq":1,"watermark":5,"claimed":"AACAEw==","replay":1,"read":13,"last":{"offset":12,"timestampMs":8},"start":3,"inherited":true}',
  ],
  [
    writeJob(JOB),
    'job/a',
    '{"v":1,"id":"a","remoteId":"r","kind":"review","type":"post","attempt":1,"depth":0,"spent":1,"root":"a","sequence":1,"count":3,"bytes":10,"createdMs":5,"oldestEventMs":-4,"newestEventMs":3,"sources":[{"partition":0,"replay":0,"offsets":"AAAiAg=="}]}',
  ],
  [
    writeJob({ ...JOB, id: 'c', rowKey: 'AAECAwQFBgcICQoLDA0ODw' }),
    'job/c',
    '{"v":1,"id":"c","remoteId":"r","kind":"review","type":"post","attempt":1,"depth":0,"spent":1,"root":"a","sequence":1,"count":3,"bytes":10,"createdMs":5,"oldestEventMs":-4,"newestEventMs":3,"sources":[{"partition":0,"replay":0,"offsets":"AAAiAg=="}],"rowKey":"AAECAwQFBgcICQoLDA0ODw"}',
  ],
  [writeLeft('a', LEFT), 'job/a/left', '{"v":1,"left":[[0,"AAAg"],[4,"AEBA"]]}'],
  [
    writeLeft('b', LEFT, true),
    'job/b/left',
    '{"v":1,"left":[[0,"AAAg"],[4,"AEBA"]],"uploaded":true}',
  ],
  [
    writeControl({ revision: 2, hold: { state: 'draining', atMs: 5, by: 'a@h', reason: 'why' } }),
    'control',
    '{"v":1,"revision":2,"hold":{"state":"draining","atMs":5,"by":"a@h","reason":"why"}}',
  ],
  [
    writeAcknowledgement({ revision: 2, atMs: 7, drained: false }),
    'control/ack',
    '{"v":1,"revision":2,"atMs":7,"drained":false}',
  ],
  [writeJobEnd('a')[0], 'job/a', null],
  [writeJobEnd('a')[1], 'job/a/left', null],
];

test('the journal is written exactly in format 1', () => {
  assert.equal(
    JOURNAL_FORMAT,
    1,
    'keep the records of format 1 and add those of the new format: this version must read both',
  );
  for (const [written, key, value] of FORMAT_1) assert.deepEqual(written, { key, value });
});

test('records of format 1 are read', () => {
  const read = new Map(
    FORMAT_1.filter(([, , value]) => value !== null).map(([, key, value]) => [
      key,
      readJournalRecord(key, value),
    ]),
  );
  assert.deepEqual(read.get('meta'), { entry: 'meta', value: { ...META, format: 1 } });
  assert.deepEqual(read.get('owner'), {
    entry: 'owner',
    value: { instance: 'i', claim: 'c', atMs: 1 },
  });
  assert.deepEqual(read.get('job/a'), { entry: 'job', id: 'a', value: JOB });
  assert.deepEqual(progressOf(read.get('progress/2')), { ...PROGRESS, claimed: [7, 8, 9, 12] });
  assert.deepEqual(progressOf(read.get('progress/3')), {
    ...PROGRESS,
    claimed: [7, 8, 9, 12],
    inherited: true,
  });
  const left = read.get('job/a/left');
  assert.ok(left?.entry === 'left' && left.value !== null);
  assert.deepEqual([...left.value], [...LEFT]);
  assert.deepEqual(
    [left, read.get('job/b/left')].map((one) => one?.entry === 'left' && one.isUploaded),
    [false, true],
  );
});

function progressOf(entry: JournalEntry | undefined): object {
  assert.ok(entry?.entry === 'progress');
  return { ...entry.value, claimed: [...entry.value.claimed] };
}
