/** A world that is well, broken in one place: the line that says so, its remedy, and no other line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeMeta, writeProgress } from '../../../../src/core/journal/journal-records.ts';
import { commitMetadata } from '../../../../src/core/journal/shard-state.ts';
import { OffsetSet } from '../../../../src/core/offsets/offset-set.ts';
import type { DeadLetterReason, Decoded } from '../../../../src/core/record.ts';
import { FakeWorld, MIB } from './world.ts';

const NOW_MS = Date.now();
const item = { item: { type: 'comment' } } as unknown as Decoded;
const poison = (reason: DeadLetterReason): Decoded => ({ poison: { reason, message: 'm' } });
const sampled = (...decoded: Decoded[]) =>
  decoded.map((one) => ({ timestampMs: NOW_MS, decoded: one }));

/** A journal of this pipeline that has read up to `watermark`. */
function withJournal(world: FakeWorld, watermark: number, group = 'reviewers'): FakeWorld {
  const progress = {
    seq: 1,
    watermark,
    claimed: new OffsetSet(),
    replay: 0,
    read: watermark,
    last: null,
    start: 0,
  };
  const meta = { group, source: 'content', shards: 1, kind: 'review' };
  world.settings.set('journal', {
    'cleanup.policy': 'compact',
    'delete.retention.ms': '86400000',
    'min.insync.replicas': '1',
  });
  world.journal = [writeMeta(meta), writeProgress(0, progress)].map(({ key, value }) => ({
    key,
    value: value ?? '',
  }));
  world.committed = new Map([[0, { offset: watermark, metadata: commitMetadata(1) }]]);
  return world;
}

test('where all is well nothing is wrong, and nothing was made', async () => {
  const world = new FakeWorld();
  world.records = sampled(item, item);
  assert.deepEqual(await world.wrong(), []);
  assert.deepEqual(world.tried, ['create journal 1', 'try journal-doctor']);
});

const BROKEN: readonly (readonly [string, (world: FakeWorld) => void, readonly RegExp[]])[] = [
  [
    'one of two addresses is away',
    (world) => Object.assign(world, { brokers: 0 }),
    [/^kafka\.connect warning: b:1: Connection error -> /],
  ],
  [
    'all addresses are away',
    (world) => Object.assign(world, { brokers: -1 }),
    [/^kafka\.connect failed: a:1: Connection error; b:1: /],
  ],
  [
    'a transaction may take longer than brokers let it',
    (world) => Object.assign(world, { transactionTimeoutMs: 900_001 }),
    [
      /^kafka\.settings failed: kafka\.transactionTimeout of pipeline posts is 900001 ms, .* 900000 -> /,
    ],
  ],
  [
    'a session is shorter than brokers let it',
    (world) => Object.assign(world, { sessionTimeoutMs: 5_999 }),
    [
      /^kafka\.settings failed: .*group\.min\.session\.timeout\.ms of the brokers 6000 -> raise kafka\.sessionTimeout/,
    ],
  ],
  [
    'a session is longer than brokers let it',
    (world) => Object.assign(world, { sessionTimeoutMs: 1_800_001 }),
    [
      /^kafka\.settings failed: .*group\.max\.session\.timeout\.ms .* -> lower kafka\.sessionTimeout/,
    ],
  ],
  [
    'there is no source',
    (world) => world.settings.delete('content'),
    [/^topic\.source failed: it does not exist -> create it/],
  ],
  [
    'the source is compacted',
    (world) => Object.assign(world.settings.get('content') ?? {}, { 'cleanup.policy': 'compact' }),
    [/^topic\.source warning: it is compacted/],
  ],
  [
    'the source forgets before a retry reads it',
    (world) => Object.assign(world.settings.get('content') ?? {}, { 'retention.ms': '172799999' }),
    [
      /^topic\.source warning: retention\.ms is 172799999, .* -> raise retention\.ms to 172800000 or more/,
    ],
  ],
  [
    'the source may not be read',
    (world) => world.denied.set('content', 'READ'),
    [
      /^topic\.source failed: the right to READ is missing -> grant READ on topic content to User:me/,
    ],
  ],
  [
    'decisions may not be written',
    (world) => world.denied.set('decisions', 'WRITE'),
    [/^topic\.output failed: .* -> grant WRITE on topic decisions to User:me/],
  ],
  [
    'decisions are compacted',
    (world) =>
      Object.assign(world.settings.get('decisions') ?? {}, { 'cleanup.policy': 'compact,delete' }),
    [
      /^topic\.output failed: cleanup\.policy of topic "decisions" is "compact,delete", must be "delete"/,
    ],
  ],
  [
    'decisions repeat contents that their topic does not take',
    (world) => {
      world.includesContent = true;
      Object.assign(world.settings.get('decisions') ?? {}, { 'max.message.bytes': '1000' });
    },
    [/^topic\.output warning: max\.message\.bytes is 1000, .* up to 1048588 bytes/],
  ],
  [
    'dead letters are smaller than the records',
    (world) => Object.assign(world.settings.get('dead') ?? {}, { 'max.message.bytes': '1000' }),
    [
      /^topic\.deadLetters warning: max\.message\.bytes is 1000, that of the source 1048588: .* -> raise max\.message\.bytes to 1048588/,
    ],
  ],
  [
    'a partition has no leader',
    (world) =>
      Object.assign(world.replicas, {
        content: { partition: 0, leader: -1, replicas: 1, inSync: 0 },
      }),
    [/^topic\.source failed: no leader for partition 0; not all replicas are in sync/],
  ],
  [
    'too few replicas are in sync to be written to',
    (world) => {
      Object.assign(world, { brokers: 3, replicationFactor: 3 });
      for (const topic of ['decisions', 'dead'])
        Object.assign(world.settings.get(topic) ?? {}, { 'min.insync.replicas': '2' });
      world.replicas = { decisions: { partition: 0, leader: 1, replicas: 3, inSync: 1 } };
    },
    [
      /^topic\.output failed: fewer replicas than min\.insync\.replicas \(2\) are in sync of partition 0/,
    ],
  ],
  [
    'one broker lost loses what was acknowledged',
    (world) => {
      Object.assign(world, { brokers: 3, replicationFactor: 3 });
      Object.assign(world.settings.get('dead') ?? {}, { 'min.insync.replicas': '2' });
    },
    [/^topic\.output warning: min\.insync\.replicas is 1: .* -> set min\.insync\.replicas=2/],
  ],
  [
    'another kind of consumer has the group',
    (world) => {
      const members = [{ clientId: 'theirs', host: '/192.0.2.7' }];
      world.group = { ...world.group, state: 'Stable', protocol: 'range', isOurs: false, members };
    },
    [
      /^group\.members failed: another kind of consumer uses it \(consumer range: theirs at 192\.0\.2\.7\) -> /,
    ],
  ],
  [
    'the group may not be joined',
    (world) => Object.assign(world, { group: { ...world.group, allowed: new Set(['DESCRIBE']) } }),
    [/^group\.members failed: .* -> grant READ on group reviewers to User:me/],
  ],
  [
    'the topics of decisions and dead letters take small records only',
    (world) => {
      for (const topic of ['decisions', 'dead', 'content'])
        Object.assign(world.settings.get(topic) ?? {}, { 'max.message.bytes': '100000' });
    },
    [
      /^topic\.output warning: max\.message\.bytes is 100000: .* a larger decision becomes a dead letter \(too_large\) -> /,
      /^topic\.deadLetters warning: max\.message\.bytes is 100000: .* has no value, and cannot be replayed -> /,
    ],
  ],
  [
    'the group has offsets of this connector, and its journal is not there',
    (world) => world.committed.set(0, { offset: 3, metadata: 'v1:7' }),
    [
      /^group\.offsets failed: group .* committed offsets of partition 0 of source topic content .* "journal" does not exist\. .*docs\/faq\.md/,
    ],
  ],
  [
    'the journal is another pipeline’s',
    (world) => withJournal(world, 1, 'others'),
    [
      /^journal\.content failed: the journal journal belongs to group others .* -> put the old setting back, or give this pipeline a journal topic and a group of its own/,
    ],
  ],
  [
    'the journal is written by somebody else',
    (world) => {
      withJournal(world, 1).journal.push({ key: 'hello', value: 'world' });
    },
    [/^journal\.content failed: partition 0 of the journal journal: /],
  ],
  [
    'the journal would be forgotten',
    (world) =>
      Object.assign(withJournal(world, 1).settings.get('journal') ?? {}, {
        'cleanup.policy': 'delete',
      }),
    [/^journal\.topic failed: .*cleanup\.policy is "delete", must be exactly "compact"/],
  ],
  [
    'somebody reset the group',
    (world) => {
      withJournal(world, 2).committed = new Map([[0, { offset: 1, metadata: '' }]]);
    },
    [/^group\.offsets warning: partition 0: offset 1 was set by somebody else: .* not at 2 -> /],
  ],
  [
    'the source was made anew',
    (world) => withJournal(world, 9),
    [/^group\.offsets failed: partition 0 ends at offset 3, but was read up to 9/],
  ],
  [
    'records were removed before they were read',
    (world) => Object.assign(withJournal(world, 1), { range: { start: 2, end: 3 } }),
    [/^group\.offsets warning: partition 0: offsets 1 to 1 were removed/],
  ],
  [
    'some records would become dead letters',
    (world) =>
      Object.assign(world, {
        records: sampled(item, poison('no_type'), poison('no_type'), { skip: 'filtered' }),
      }),
    [
      /^source\.sample warning: 1 of 4 would be reviewed, 1 skipped \(filtered\), 2 dead letters \(no_type\) -> /,
    ],
  ],
  [
    'all of them would',
    (world) => Object.assign(world, { records: sampled(poison('not_json'), poison('no_type')) }),
    [
      /^source\.sample failed: 0 of 2 would be reviewed, 2 dead letters \(1 not_json, 1 no_type\) -> /,
    ],
  ],
  [
    'none is wanted',
    (world) => Object.assign(world, { records: sampled({ skip: 'filtered' }) }),
    [/^source\.sample warning: 0 of 1 .* -> look at source\.filter/],
  ],
  [
    'a record comes from the future',
    (world) =>
      Object.assign(world, { records: [{ timestampMs: NOW_MS + 3_600_000, decoded: item }] }),
    [/^source\.sample warning: the newest is 3\d{3} s ahead of the clock/],
  ],
  [
    'the name of the service is unknown',
    (world) =>
      Object.assign(world, {
        lookUp: () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })),
      }),
    [
      /^service\.address failed: its host is not known here \(ENOTFOUND\) -> correct service\.baseUrl/,
    ],
  ],
  [
    'the key is refused',
    (world) => Object.assign(world, { answer: 'unauthorized' }),
    [/^service\.batch failed: answered unauthorized$/],
  ],
  [
    'the service is away',
    (world) => Object.assign(world, { answer: 'unavailable' }),
    [/^service\.batch failed: answered unavailable$/],
  ],
  [
    'the question is refused',
    (world) => Object.assign(world, { answer: 'rejected' }),
    [/^service\.batch warning: answered rejected$/],
  ],
  [
    'the service knows everything',
    (world) => Object.assign(world, { answer: undefined }),
    [/^service\.batch warning: it knows one by an id/],
  ],
  [
    'the clock is late',
    (world) => Object.assign(world, { aheadMs: 31_000 }),
    [/^service\.clock warning: 31 s behind/],
  ],
  [
    'the clock is wrong',
    (world) => Object.assign(world, { aheadMs: -301_000 }),
    [/^service\.clock failed: 301 s ahead of/],
  ],
  [
    'the container is small',
    (world) =>
      Object.assign(world, {
        memory: { budgetBytes: 64 * MIB, containerBytes: 256 * MIB, arenas: '1', semiSpaceMiB: 4 },
      }),
    [
      /^process\.memory warning: the container has 256 MiB, .* 296 MiB.* -> give it 296 MiB, or set memory\.budget to 37MiB$/,
    ],
  ],
  [
    'the process was started by hand',
    (world) =>
      Object.assign(world, {
        memory: {
          budgetBytes: 64 * MIB,
          containerBytes: 512 * MIB,
          arenas: undefined,
          semiSpaceMiB: undefined,
        },
      }),
    [
      /^process\.memory warning: MALLOC_ARENA_MAX is not set.*without --max-semi-space-size -> set MALLOC_ARENA_MAX=1; start it with/,
    ],
  ],
];

for (const [name, breakIt, expected] of BROKEN) {
  test(`${name}: one line says it`, async () => {
    const world = new FakeWorld();
    breakIt(world);
    const wrong = await world.wrong();
    assert.equal(wrong.length, expected.length, wrong.join('\n'));
    for (const [n, pattern] of expected.entries()) assert.match(wrong[n] ?? '', pattern);
  });
}

test('brokers whose settings may not be read are no failure', async () => {
  const world = new FakeWorld();
  world.brokerSettings = undefined;
  const settings = (await world.results()).get('kafka.settings');
  assert.equal(settings?.status, 'skipped');
  assert.match(settings?.found ?? '', /--round-trip tries the transaction timeout/);
});
