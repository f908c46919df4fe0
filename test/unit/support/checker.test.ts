import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoordinateSet, type JobRecord, sourcesOf } from '../../../src/core/journal/job.ts';
import {
  writeJob,
  writeJobEnd,
  writeLeft,
  writeProgress,
} from '../../../src/core/journal/journal-records.ts';
import { OffsetSet } from '../../../src/core/offsets/offset-set.ts';
import { deadLetter } from '../../../src/core/outcome/dead-letter.ts';
import type { OutgoingRecord } from '../../../src/core/record.ts';
import {
  assertConserved,
  assertExactlyOnce,
  type CheckOptions,
  judge,
} from '../../support/memory/checker.ts';
import { Cluster } from '../../support/memory/kafka/cluster.ts';

const options: CheckOptions = {
  group: 'g',
  source: 'in',
  journal: 'journal',
  outputs: ['out', 'dead'],
};

function world(records: number) {
  const cluster = new Cluster(() => 0);
  cluster.createTopic('in', 1);
  cluster.createTopic('out', 2);
  cluster.createTopic('dead', 1);
  cluster.createTopic('journal', 1);
  cluster.produce(
    'in',
    0,
    Array.from({ length: records }, (_, i) => ({ key: null, value: String(i) })),
  );
  const settle = (offset: number, output = 0) =>
    cluster.produce('out', output, [
      { key: null, value: JSON.stringify({ source: { topic: 'in', partition: 0, offset } }) },
    ]);
  const journal = (...writes: readonly OutgoingRecord[]) => cluster.produce('journal', 0, writes);
  const live = (id: string, offsets: readonly number[], watermark: number) => {
    const items = offsets.map((offset) => ({ partition: 0, offset, replay: 0 }));
    const progress = {
      seq: 1,
      watermark,
      claimed: OffsetSet.of(offsets),
      replay: 0,
      read: watermark,
      last: null,
    };
    const record: JobRecord = {
      id,
      remoteId: `remote-${id}`,
      kind: 'scripted',
      type: 'text',
      attempt: 1,
      depth: 0,
      spent: 1,
      root: id,
      sequence: 1,
      count: offsets.length,
      bytes: 1,
      createdMs: 0,
      oldestEventMs: 0,
      newestEventMs: 0,
      sources: sourcesOf(CoordinateSet.of(items), () => 0),
    };
    journal(writeJob(record), writeLeft(id, CoordinateSet.of(items)), writeProgress(0, progress));
  };
  return { cluster, settle, journal, live };
}

test('one terminal record each and no live job: all is well', () => {
  const { cluster, settle, live, journal } = world(3);
  const source = cluster.log('in', 0).committed()[2];
  assert.ok(source);
  settle(0, 0);
  settle(1, 1);
  const context = { topic: 'in', stage: 'decode', replay: 0, maxValueBytes: 1_000 } as const;
  cluster.produce('dead', 0, [deadLetter(source, { reason: 'not_json', message: 'm' }, context)]);
  live('a', [0, 1], 2);
  journal(...writeJobEnd('a'));
  cluster.commitOffset('g', 'in', 0, 3);
  assertExactlyOnce(cluster, options);
  assert.equal(judge(cluster, options).settled, 3);
});

test('a lost record, a doubled one, one that was never there and a live job are all told', () => {
  const { cluster, settle, live } = world(4);
  settle(0);
  settle(0, 1);
  settle(77);
  live('a', [1], 2);
  cluster.commitOffset('g', 'in', 0, 3);
  assert.deepEqual(judge(cluster, options), {
    missing: ['0:2', '0:3'],
    doubled: ['0:0'],
    unexpected: ['0:77'],
    lost: ['0:2'],
    contradictory: [],
    liveJobs: ['a'],
    settled: 3,
  });
  assert.throws(() => assertExactlyOnce(cluster, options), /missing 2: 0:2 0:3; doubled 1: 0:0;/);
  assert.throws(() => assertConserved(cluster, options), /lost 1: 0:2/);
});

test('work in flight is conserved, yet not the end', () => {
  const { cluster, live } = world(3);
  live('a', [0, 1], 2);
  cluster.commitOffset('g', 'in', 0, 2);
  assertConserved(cluster, options);
  assert.throws(() => assertExactlyOnce(cluster, options), /missing 1: 0:2; liveJobs 1: a/);
});

test('a record that is settled and in a live job, or in two, is a contradiction', () => {
  const { cluster, settle, live } = world(2);
  live('a', [0], 1);
  settle(0);
  assert.throws(() => assertConserved(cluster, options), /contradictory 1: 0:0/);
  live('b', [0], 1);
  assert.throws(() => assertConserved(cluster, options), /in two live jobs/);
});

test('what was aborted or is undecided does not count as settled', () => {
  const { cluster } = world(1);
  const log = cluster.log('out', 0);
  const value = JSON.stringify({ partition: 0, offset: 0 });
  log.append([{ key: null, value }], 0, 1);
  log.finish(1, 'abort', 0);
  log.append([{ key: null, value }], 0, 2);
  assert.deepEqual(judge(cluster, options).missing, ['0:0']);
  log.finish(2, 'commit', 0);
  assertExactlyOnce(cluster, options);
});

test('skipped records are outside the promise: a terminal record for one is a mistake', () => {
  const { cluster, settle } = world(2);
  settle(0);
  const skipping = { ...options, isSkipped: ({ offset }: { offset: number }) => offset === 1 };
  assertExactlyOnce(cluster, skipping);
  settle(1);
  assert.throws(() => assertExactlyOnce(cluster, skipping), /unexpected 1: 0:1/);
});
