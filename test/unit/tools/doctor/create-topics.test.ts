/** Creation of missing topics, and comparison of the others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { commitMetadata } from '../../../../src/core/journal/shard-state.ts';
import type { TopicReport } from '../../../../src/tools/doctor/create-topics.ts';
import { engineOptions } from '../../../support/engine/world.ts';
import { FakeWorld } from './world.ts';

const WEEK_MS = 7 * 24 * 3_600_000;

function emptyWorld(): FakeWorld {
  const world = new FakeWorld();
  world.settings.clear();
  return world;
}

const states = (reports: readonly TopicReport[]) =>
  reports.map(({ role, state, diagnosis: { status } }) => `${role} ${state} ${status}`);

test('a dry run has the brokers validate each missing topic, and creates none', async () => {
  const world = emptyWorld();
  const reports = await world.createTopics();
  assert.deepEqual(states(reports), [
    'source missing ok',
    'output missing ok',
    'dead-letter missing ok',
    'journal missing ok',
  ]);
  assert.deepEqual(world.tried, [
    'create content 6',
    'create decisions 6',
    'create dead 6',
    'create journal 6',
  ]);
});

test('with yes they are created, and a second run creates none', async () => {
  const world = emptyWorld();
  world.mayCreate = true;
  const { maxReviewTimeMs, attempts } = engineOptions().review;
  const [source, output] = await world.createTopics({ yes: true, partitions: 1 });
  assert.deepEqual(source?.settings, {
    'cleanup.policy': 'delete',
    'retention.ms': String(maxReviewTimeMs * attempts + WEEK_MS),
    'min.insync.replicas': '1',
  });
  assert.deepEqual(output?.settings, { 'cleanup.policy': 'delete', 'min.insync.replicas': '1' });
  const made = ['made content 1', 'made decisions 1', 'made dead 1', 'made journal 1'];
  assert.deepEqual(world.tried, made);
  const again = await world.createTopics({ yes: true });
  assert.ok(again.every(({ state, diagnosis }) => state === 'exists' && diagnosis.status === 'ok'));
  assert.deepEqual(world.tried, made);
});

test('the doctor has nothing to report about created topics, whatever the cluster and the source', async () => {
  const source = fc.option(fc.integer({ min: 100_000, max: 50_000_000 }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      source,
      fc.boolean(),
      async (brokers, bytes, includesContent) => {
        const world = emptyWorld();
        Object.assign(world, { brokers, mayCreate: true, includesContent });
        world.replicationFactor = Math.min(3, brokers);
        if (bytes !== undefined)
          world.settings.set('content', {
            'cleanup.policy': 'delete',
            'max.message.bytes': String(bytes),
            'min.insync.replicas': '2',
          });
        await world.createTopics({ yes: true });
        // A cluster has values for settings that a topic does not set.
        for (const settings of world.settings.values()) settings['max.message.bytes'] ??= '1048588';
        assert.deepEqual(await world.wrong(), []);
      },
    ),
  );
});

test('an existing topic is compared, and keeps its settings', async () => {
  const world = new FakeWorld();
  world.mayCreate = true;
  world.settings.set('decisions', { 'cleanup.policy': 'compact' });
  world.settings.set('content', { 'cleanup.policy': 'delete', 'retention.ms': '1000' });
  world.settings.set('journal', { 'cleanup.policy': 'delete', 'delete.retention.ms': '86400000' });
  const before = structuredClone(world.settings);
  const reports = await world.createTopics({ yes: true });
  assert.deepEqual(states(reports), [
    'source exists warning',
    'output exists failed',
    'dead-letter exists ok',
    'journal exists failed',
  ]);
  assert.match(reports[0]?.diagnosis.remedy ?? '', /^raise retention\.ms to \d+ or more/);
  assert.match(reports[1]?.diagnosis.found ?? '', /must be "delete"/);
  assert.match(reports[3]?.diagnosis.found ?? '', /must be exactly "compact".* kafka-configs/);
  assert.deepEqual([world.settings, world.tried], [before, []]);
});

test('a source of another team is not created, and topics with its partitions wait for it', async () => {
  const world = emptyWorld();
  world.mayCreate = true;
  const reports = await world.createTopics({ source: false, yes: true });
  assert.deepEqual(states(reports), [
    'source missing failed',
    'output missing failed',
    'dead-letter missing failed',
    'journal missing failed',
  ]);
  assert.match(
    reports[1]?.diagnosis.found ?? '',
    /as many partitions as the source topic, which does not exist: create that one first/,
  );
  assert.deepEqual(world.tried, []);
  world.settings.set('content', { 'cleanup.policy': 'delete' });
  await world.createTopics({ source: false, yes: true });
  assert.deepEqual(world.tried, ['made decisions 1', 'made dead 1', 'made journal 1']);
});

test('a journal is not created for a group that has committed offsets together with another one', async () => {
  const world = new FakeWorld();
  world.mayCreate = true;
  world.committed = new Map([[0, { offset: 7, metadata: commitMetadata(1) }]]);
  const reports = await world.createTopics({ yes: true });
  assert.equal(states(reports)[3], 'journal missing failed');
  assert.match(reports[3]?.diagnosis.found ?? '', /Put the old journal back/);
  assert.deepEqual(world.tried, []);
});
