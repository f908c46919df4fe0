/** Doctor checks of a setup with one defect. Exactly the expected checks must report the defect. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Hold } from '../../../../src/core/journal/control.ts';
import {
  writeControl,
  writeMeta,
  writeProgress,
} from '../../../../src/core/journal/journal-records.ts';
import { commitMetadata } from '../../../../src/core/journal/shard-state.ts';
import { OffsetSet } from '../../../../src/core/offset-set.ts';
import { FakeWorld, NOW_MS } from './world.ts';

/** Adds a journal of this pipeline that has read up to `watermark`. */
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

/** Adds a journal whose latest command holds the pipeline. */
function withCommand(world: FakeWorld, hold: Partial<Hold>): FakeWorld {
  const given = { state: 'draining', atMs: NOW_MS, by: 'helm uninstall posts' } as const;
  const { key, value } = writeControl({ revision: 1, hold: { ...given, ...hold } });
  withJournal(world, 1).journal.push({ key, value: value ?? '' });
  return world;
}

test('a correct setup has no problems, and nothing is created', async () => {
  const world = new FakeWorld();
  assert.deepEqual(await world.wrong(), []);
  assert.deepEqual(world.tried, ['create journal 1', 'try journal-doctor']);
});

const BROKEN: readonly (readonly [string, (world: FakeWorld) => void, readonly RegExp[]])[] = [
  [
    'one of two addresses is unreachable',
    (world) => Object.assign(world, { brokers: 0 }),
    [/^kafka\.connect warning: b:1: Connection error -> /],
  ],
  [
    'all addresses are unreachable',
    (world) => Object.assign(world, { brokers: -1 }),
    [/^kafka\.connect failed: a:1: Connection error; b:1: /],
  ],
  [
    'the source does not exist',
    (world) => world.settings.delete('content'),
    [/^topic\.source failed: it does not exist -> run "content-review-connector topics create"/],
  ],
  [
    'the source is compacted',
    (world) => Object.assign(world.settings.get('content') ?? {}, { 'cleanup.policy': 'compact' }),
    [/^topic\.source warning: it is compacted/],
  ],
  [
    'the source expires before a retry reads it',
    (world) => Object.assign(world.settings.get('content') ?? {}, { 'retention.ms': '172799999' }),
    [
      /^topic\.source warning: retention\.ms is 172799999, .* -> raise retention\.ms to 172800000 or more/,
    ],
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
    'another application uses the group',
    (world) => {
      const members = [{ clientId: 'theirs', host: '/192.0.2.7' }];
      world.group = { ...world.group, state: 'Stable', protocol: 'range', isOurs: false, members };
    },
    [
      /^group\.members failed: used by another application \(consumer range: theirs at 192\.0\.2\.7\) -> /,
    ],
  ],
  [
    'the group has offsets of this connector, but its journal does not exist',
    (world) => world.committed.set(0, { offset: 3, metadata: 'v1:7' }),
    [
      /^journal failed: group .* committed offsets of partition 0 of source topic content .* "journal" does not exist\. .*docs\/faq\.md/,
    ],
  ],
  [
    'the journal was emptied',
    (world) => {
      withJournal(world, 1).journal = [];
    },
    [/^journal failed: group .* committed offsets of partition 0 .* "journal" is empty\. /],
  ],
  [
    'the journal belongs to another pipeline',
    (world) => withJournal(world, 1, 'others'),
    [
      /^journal failed: the journal journal belongs to group others .*is this the configuration that the pipeline runs with/,
    ],
  ],
  [
    'the journal has foreign records',
    (world) => {
      withJournal(world, 1).journal.push({ key: 'hello', value: 'world' });
    },
    [/^journal failed: partition 0 of the journal journal: /],
  ],
  [
    'the journal is not compacted',
    (world) =>
      Object.assign(withJournal(world, 1).settings.get('journal') ?? {}, {
        'cleanup.policy': 'delete',
      }),
    [/^journal failed: .*cleanup\.policy is "delete", must be exactly "compact"/],
  ],
  [
    'the pipeline is drained',
    (world) => withCommand(world, {}),
    [
      /^journal warning: the pipeline is draining and reads nothing new, by command of helm uninstall posts -> run "content-review-connector resume posts", unless this is intended$/,
    ],
  ],
  [
    'the pipeline is paused',
    (world) => withCommand(world, { state: 'paused', by: 'ann' }),
    [/^journal warning: the pipeline is paused and reads nothing new, by command of ann -> /],
  ],
  [
    'the API key is rejected',
    (world) => Object.assign(world, { answer: 'unauthorized' }),
    [/^service\.batch failed: responded with unauthorized$/],
  ],
  [
    'the service is unavailable',
    (world) => Object.assign(world, { answer: 'unavailable' }),
    [/^service\.batch failed: responded with unavailable$/],
  ],
  [
    'the request is rejected',
    (world) => Object.assign(world, { answer: 'rejected' }),
    [/^service\.batch warning: responded with rejected$/],
  ],
  [
    'the service returns a batch for a random id',
    (world) => Object.assign(world, { answer: undefined }),
    [/^service\.batch warning: it returned data for a random id/],
  ],
];

for (const [name, breakIt, expected] of BROKEN) {
  test(`${name}: exactly the expected checks report it`, async () => {
    const world = new FakeWorld();
    breakIt(world);
    const wrong = await world.wrong();
    assert.equal(wrong.length, expected.length, wrong.join('\n'));
    for (const [n, pattern] of expected.entries()) assert.match(wrong[n] ?? '', pattern);
  });
}
