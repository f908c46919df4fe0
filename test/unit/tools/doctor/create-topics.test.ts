/** Creation of missing topics. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { commitMetadata } from '../../../../src/core/journal/shard-state.ts';
import type { TopicReport } from '../../../../src/tools/doctor/create-topics.ts';
import { FakeWorld } from './world.ts';

function emptyWorld(): FakeWorld {
  const world = new FakeWorld();
  world.settings.clear();
  return world;
}

const states = (reports: readonly TopicReport[]) =>
  reports.map(
    ({ role, state, problem }) => `${role} ${state}${problem === null ? '' : ' REFUSED'}`,
  );

test('a dry run lets the brokers validate each missing topic, and creates none', async () => {
  const world = emptyWorld();
  const reports = await world.createTopics();
  assert.deepEqual(states(reports), [
    'source missing',
    'output missing',
    'dead-letter missing',
    'journal missing',
  ]);
  assert.deepEqual(world.tried, [
    'create content 6',
    'create decisions 6',
    'create dead 6',
    'create journal 6',
  ]);
});

test('the doctor reports no problem with created topics, for any cluster and source', async () => {
  const source = fc.option(fc.integer({ min: 100_000, max: 50_000_000 }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), source, async (brokers, bytes) => {
      const world = emptyWorld();
      Object.assign(world, { brokers, mayCreate: true });
      world.replicationFactor = Math.min(3, brokers);
      if (bytes !== undefined)
        world.settings.set('content', {
          'cleanup.policy': 'delete',
          'max.message.bytes': String(bytes),
          'min.insync.replicas': '2',
        });
      await world.createTopics({ yes: true });
      // Adds the cluster's default for a setting that a topic does not set.
      for (const settings of world.settings.values()) settings['max.message.bytes'] ??= '1048588';
      assert.deepEqual(await world.wrong(), []);
    }),
  );
});

test('an existing topic keeps its settings', async () => {
  const world = new FakeWorld();
  world.mayCreate = true;
  world.settings.set('decisions', { 'cleanup.policy': 'compact' });
  const before = structuredClone(world.settings.get('decisions'));
  const reports = await world.createTopics({ yes: true });
  assert.deepEqual(states(reports).slice(0, 3), [
    'source exists',
    'output exists',
    'dead-letter exists',
  ]);
  assert.deepEqual([world.settings.get('decisions'), world.tried], [before, ['made journal 1']]);
});

test('a journal is not created if the group has committed offsets', async () => {
  const world = new FakeWorld();
  world.mayCreate = true;
  world.committed = new Map([[0, { offset: 7, metadata: commitMetadata(1) }]]);
  const reports = await world.createTopics({ yes: true });
  assert.equal(states(reports)[3], 'journal missing REFUSED');
  assert.match(reports[3]?.problem ?? '', /Restore the old journal/);
  assert.deepEqual(world.tried, []);
});

test('the replication factor applies to all topics, but a journal needs two replicas on several brokers', async () => {
  const world = emptyWorld();
  world.brokers = 3;
  const replicas = async (replicationFactor: number) =>
    (await world.createTopics({ replicationFactor })).map(({ replicas }) => replicas);
  assert.deepEqual(await replicas(2), [2, 2, 2, 2]);
  assert.deepEqual(await replicas(1), [1, 1, 1, null]);
  const [, , , journal] = await world.createTopics({ replicationFactor: 1 });
  assert.match(journal?.problem ?? '', /at least 2 replicas: use --replication-factor 2/);
});
