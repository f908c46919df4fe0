/** Source records still end if their terminal records are too large for Kafka. Tested with the engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastHeader } from '../../../../src/core/record.ts';
import type { PipelinePorts } from '../../../../src/pipeline/context/pipeline-context.ts';
import { changed, withFiles } from '../../../support/engine/changed.ts';
import { World, type WorldSettings, type WrapPorts } from '../../../support/engine/world.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';
import { sliceOf } from '../../../support/records/slices.ts';

const MINUTE = 60_000;
/** Content that is larger than the record limit of the topics in memory. */
const HUGE = 'x'.repeat(2_000_000);

function sixRecords(settings: WorldSettings): World {
  const world = new World({
    partitions: 1,
    ...settings,
    options: { batch: { maxRows: 6, maxAgeMs: 2_000 }, ...settings.options },
  });
  world.start();
  for (let n = 0; n < 6; n++) world.event(0);
  return world;
}

const withResults = (offset: number) => (ports: PipelinePorts) => ({
  ...ports,
  kind: changed(withFiles(ports.kind), {
    results: async function* (status, job, signal) {
      for await (const slice of withFiles(ports.kind).results(status, job, signal)) {
        yield sliceOf(
          Array.from(slice, (row) =>
            !('record' in row) || row.offset !== offset
              ? row
              : { ...row, record: { ...row.record, value: HUGE } },
          ),
        );
      }
    },
  }),
});

/** Returns offset, reason and stage of the only dead letter. */
function letterOf(world: World): (string | undefined)[] {
  const [letter, ...more] = world.published('dead');
  assert.deepEqual(more, []);
  return ['offset', 'reason', 'stage'].map((name) =>
    lastHeader(letter?.headers ?? [], `dead-letter-${name}`)?.toString(),
  );
}

const decided = (world: World) =>
  world
    .decisions()
    .map(({ offset }) => offset)
    .sort();

test('a decision that is too large for Kafka becomes a dead letter, and other decisions are published', async () => {
  const world = sixRecords({ wrap: withResults(4) });
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    [decided(world), letterOf(world)],
    [
      [0, 1, 2, 3, 5],
      ['4', 'too_large', 'settle'],
    ],
  );
  assert.equal(world.service.batches.size, 1);
});

/** Reports the brokers' limit on the size of a record. */
const told: WrapPorts = (ports) => ({
  ...ports,
  admin: changed(ports.admin, {
    describeTopic: async (topic: string) => {
      const found = await ports.admin.describeTopic(topic);
      return (
        found && {
          ...found,
          settings: new Map([...found.settings, ['max.message.bytes', '1048588']]),
        }
      );
    },
  }),
});

const failing = (offset: number) => (ports: PipelinePorts) => ({
  ...ports,
  kind: changed(ports.kind, {
    failure: (item, error, job) => {
      const record = ports.kind.failure(item, error, job);
      return item.offset === offset ? { ...record, value: HUGE } : record;
    },
  }),
});

for (const [what, wrap, settings] of [
  ['decision', withResults(4), {}],
  [
    'ERROR decision',
    failing(4),
    { service: { review: () => ({ state: 'failed' }) }, options: { review: { attempts: 1 } } },
  ],
] as [string, WrapPorts, WorldSettings][]) {
  test(`a ${what} above the known limit of its topic is not sent, and the shard is kept`, async () => {
    const world = sixRecords({ ...settings, wrap: (ports, of) => told(wrap(ports, of), of) });
    await world.untilSettled(30 * MINUTE);
    world.assertExactlyOnce();
    assert.deepEqual(decided(world), [0, 1, 2, 3, 5]);
    assert.deepEqual(letterOf(world).slice(0, 2), ['4', 'too_large']);
    const [letter] = world.published('dead');
    assert.match(String(letter?.value), /"content"/, 'the dead letter contains the record');
    assert.equal(world.instances[0]?.metrics.counter('claims_total', { outcome: 'owned' }), 1);
  });
}

test('a record whose key is too large for the output topic is not reviewed', async () => {
  const world = new World({ partitions: 1, wrap: told });
  world.start();
  world.put(0, sourceValue({ type: 'a', content: 'x' }), { key: 'k'.repeat(1_100_000) });
  world.event(0);
  await world.untilSettled(30 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([decided(world), letterOf(world)], [[1], ['0', 'too_large', 'decode']]);
  assert.deepEqual(
    [...world.service.batches.values()].map(({ rows }) => rows?.length),
    [1],
  );
});

test('the dead letter of a record that no longer decodes and whose headers are too large has only coordinates', async () => {
  let reading = true;
  const world = new World({
    partitions: 1,
    service: { review: ({ id }) => (id === 'batch-1' ? { state: 'failed' } : {}) },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        decode: (record, replay, again) =>
          !reading && record.offset === 0
            ? { poison: { reason: 'bad_metadata', message: 'does not decode any more' } }
            : ports.kind.decode(record, replay, again),
      }),
    }),
  });
  world.start();
  world.put(0, sourceValue({ type: 'a', content: 'x' }), {
    headers: [['trace', 't'.repeat(1_100_000)]],
  });
  world.event(0);
  await world.clock.runUntil(() => world.service.batches.size === 1, MINUTE);
  reading = false;
  await world.untilSettled(30 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([decided(world), letterOf(world)], [[1], ['0', 'bad_metadata', 'rewind']]);
  assert.ok(lastHeader(world.published('dead')[0]?.headers ?? [], 'trace') === undefined);
});
