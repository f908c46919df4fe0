/** Pause, drain and resume of a pipeline, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PipelineKind } from '../../../../src/core/ports/pipeline-kind.ts';
import { changed } from '../../../support/engine/changed.ts';
import { Gate } from '../../../support/engine/gate.ts';
import { command, controlOf } from '../../../support/engine/inspection.ts';
import { type Instance, TOPICS, World } from '../../../support/engine/world.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const SLOW = { review: () => ({ afterMs: MINUTE }) };

const viewOf = (instance: Instance) => instance.pipeline.view();
const journalOf = (world: World, key: string) =>
  world.kafka.cluster
    .log(TOPICS.journal, 0)
    .committed()
    .filter((record) => String(record.key) === key);
const end = async (world: World): Promise<void> => {
  await world.untilSettled(30 * MINUTE);
  world.assertExactlyOnce();
};

test('a paused pipeline reads no records and creates no batch, but settles batches under review', async () => {
  const world = new World({ service: SLOW });
  const instance = world.start();
  world.produce(10, { types: ['a'] });
  await world.clock.runUntil(() => world.liveJobs().length === 2, MINUTE);
  const { outcome, shards } = await command(world, 'pause');
  assert.equal(outcome, 'reached');
  assert.equal(shards.length, 2);
  const batches = world.service.batches.size;
  world.produce(50);
  await world.clock.advance(10 * MINUTE);
  assert.equal(world.service.batches.size, batches);
  assert.equal(world.decisions().length, 10);
  assert.equal(world.liveJobs().length, 0);
  assert.equal(instance.gauge('control', { state: 'paused' }), 2);
  assert.equal(instance.gauge('shards_paused', { reason: 'paused' }), 2);
  assert.deepEqual([...instance.health.complaints], []);
  const { control } = viewOf(instance);
  assert.deepEqual([control?.state, control?.by], ['paused', 'ann@host']);
  await command(world, 'resume');
  await end(world);
  assert.equal(instance.gauge('control', { state: 'paused' }), 0);
  assert.equal(instance.gauge('shards_paused', { reason: 'paused' }), 0);
});

test('a paused pipeline does not submit failed batches again, and keeps buffered records without content', async () => {
  let failing = true;
  const world = new World({
    partitions: 1,
    service: { review: () => ({ afterMs: MINUTE, ...(failing ? { state: 'failed' } : {}) }) },
  });
  const instance = world.start();
  world.produce(7, { types: ['a'] });
  await world.clock.runUntil(() => instance.gauge('items_buffered') === 2, MINUTE);
  assert.equal((await command(world, 'pause')).outcome, 'reached');
  failing = false;
  const batches = world.service.batches.size;
  await world.clock.advance(5 * MINUTE);
  assert.equal(world.service.batches.size, batches);
  assert.equal(viewOf(instance).jobs[0]?.phase, 'retrying');
  assert.equal(instance.budget.pool.lentBytes, 0);
  await command(world, 'resume');
  await end(world);
});

test('a batch that is being created when the pipeline is paused is not submitted', async () => {
  const gate = new Gate();
  const world = new World({
    partitions: 1,
    wrap: (ports) => {
      const create: PipelineKind['create'] = async (...about) => {
        await gate.pass();
        return ports.kind.create(...about);
      };
      return { ...ports, kind: changed(ports.kind, { create }) };
    },
  });
  world.start();
  world.produce(5, { types: ['a'] });
  await world.clock.runUntil(() => gate.reached === 1, MINUTE);
  assert.equal((await command(world, 'pause')).outcome, 'reached');
  gate.open();
  await world.clock.advance(5 * MINUTE);
  assert.equal(world.service.batches.size, 1);
  assert.equal(world.liveJobs().length, 0);
  assert.equal(world.service.calls.upload, 0);
  await command(world, 'resume');
  await end(world);
});

test('a drain finishes retries and buffered records, and is acknowledged once no record is unsettled', async () => {
  let failing = true;
  const world = new World({
    service: { review: () => ({ afterMs: MINUTE, ...(failing ? { state: 'failed' } : {}) }) },
    options: { batch: { maxAgeMs: 60 * MINUTE } },
  });
  const instance = world.start();
  world.produce(24, { poisonEvery: 6 });
  await world.clock.runUntil(() => (instance.gauge('items_buffered') ?? 0) > 0, MINUTE);
  await command(world, 'drain', { timeoutMs: 0 });
  await world.clock.runUntil(() => viewOf(instance).records.retrying > 0, 10 * MINUTE);
  failing = false;
  world.produce(10);
  const { outcome, shards } = await command(world, 'drain');
  assert.equal(outcome, 'reached');
  assert.deepEqual(
    shards.map(({ liveJobs, unsettled }) => [liveJobs, unsettled]),
    [
      [0, 0],
      [0, 0],
    ],
  );
  assert.equal(world.decisions().length + world.published('dead').length, 24);
  await world.clock.advance(SECOND);
  assert.equal(instance.gauge('control', { state: 'drained' }), 2);
  assert.equal(viewOf(instance).control?.state, 'drained');
  const batches = world.service.batches.size;
  await world.clock.advance(10 * MINUTE);
  assert.equal(world.service.batches.size, batches);
  await command(world, 'resume');
  await end(world);
});

test('a malformed command is ignored with a warning, and the previous command stays in force', async () => {
  const world = new World({ partitions: 1 });
  const instance = world.start();
  await world.clock.runUntil(() => viewOf(instance).shards[0]?.state === 'owner', MINUTE);
  await command(world, 'pause');
  const texts = ['', 'null', '{"v":1}', '{"v":9,"revision":9}', null];
  for (const value of texts)
    world.kafka.cluster.produce(TOPICS.journal, 0, [
      { key: 'control', value: value && Buffer.from(value) },
    ]);
  world.produce(5);
  await world.clock.advance(MINUTE);
  const warnings = instance.logger.lines.filter(({ message }) =>
    message.includes('ignored a record of the journal'),
  );
  assert.equal(warnings.length, texts.length);
  instance.process.kill();
  const next = world.start();
  await world.clock.advance(2 * MINUTE);
  assert.equal(viewOf(next).shards[0]?.state, 'owner');
  assert.equal(world.service.batches.size, 0);
  assert.ok((await command(world, 'resume')).changed);
  await end(world);
});

test('a command that reached only one shard is replaced by the next command, whatever its revision', async () => {
  const hold = { state: 'paused', atMs: 1, by: 'x' };
  for (const revision of [1, 2, 0]) {
    const world = new World();
    const instance = world.start();
    await world.clock.runUntil(() => viewOf(instance).shards[1]?.state === 'owner', MINUTE);
    await command(world, 'pause');
    await command(world, 'resume');
    const value = Buffer.from(JSON.stringify({ v: 1, revision, hold }));
    world.kafka.cluster.produce(TOPICS.journal, 1, [{ key: 'control', value }]);
    await world.clock.advance(SECOND);
    const isRead = revision > 0;
    assert.equal(viewOf(instance).control?.by, isRead ? 'x' : undefined);
    const { outcome, changed } = await command(world, 'resume');
    assert.deepEqual([outcome, changed], ['reached', true]);
    world.produce(20);
    await end(world);
  }
});

test('the revision of a command whose record is gone is not used again', async () => {
  const world = new World({ partitions: 1 });
  const instance = world.start();
  await world.clock.runUntil(() => viewOf(instance).shards[0]?.state === 'owner', MINUTE);
  await command(world, 'pause');
  instance.process.kill();
  const lost = await command(world, 'resume', { timeoutMs: 0 });
  world.kafka.cluster.produce(TOPICS.journal, 0, [{ key: 'control', value: null }]);
  world.kafka.cluster.log(TOPICS.journal, 0).compact({ dropTombstones: true });
  world.start();
  await world.clock.advance(MINUTE);
  const next = await command(world, 'drain', { timeoutMs: 0 });
  assert.ok(next.control.revision > lost.control.revision);
  assert.equal((await command(world, 'resume')).outcome, 'reached');
  await end(world);
});

test('the command after the highest revision is executed', async () => {
  const world = new World({ partitions: 1 });
  const instance = world.start();
  await world.clock.runUntil(() => viewOf(instance).shards[0]?.state === 'owner', MINUTE);
  const hold = { state: 'paused', atMs: 1, by: 'x' };
  const value = JSON.stringify({ v: 1, revision: Number.MAX_SAFE_INTEGER, hold });
  world.kafka.cluster.produce(TOPICS.journal, 0, [{ key: 'control', value: Buffer.from(value) }]);
  world.produce(5);
  await world.clock.advance(MINUTE);
  assert.equal(world.service.batches.size, 0);
  const { outcome, control } = await command(world, 'resume');
  assert.deepEqual([outcome, control.revision < Number.MAX_SAFE_INTEGER], ['reached', true]);
  await end(world);
});

test('an unchanged command is not written, a newer command ends the wait, and one of two concurrent commands fails', async () => {
  const world = new World({ partitions: 1, service: { review: () => ({ afterMs: 'never' }) } });
  const instance = world.start();
  world.produce(5, { types: ['a'] });
  await world.clock.runUntil(() => world.liveJobs().length === 1, MINUTE);
  assert.deepEqual(await command(world, 'resume'), {
    ...{ outcome: 'written', changed: false, control: { revision: 0 }, shards: [] },
  });
  const first = await command(world, 'pause');
  assert.equal(first.changed, true);
  const again = await command(world, 'pause');
  assert.deepEqual(
    [again.changed, again.control, again.outcome],
    [false, first.control, 'reached'],
  );
  assert.equal(journalOf(world, 'control').length, 1);
  // The review never ends, so the drain does not end either.
  const late = await command(world, 'drain', { timeoutMs: MINUTE });
  assert.deepEqual([late.outcome, late.attended], ['unfinished', true]);
  const control = { revision: first.control.revision + MINUTE };
  world.clock.after(MINUTE, () =>
    world.kafka.cluster.produce(TOPICS.journal, 0, [
      { key: 'control', value: Buffer.from(JSON.stringify({ v: 1, ...control })) },
    ]),
  );
  assert.equal((await command(world, 'drain')).outcome, 'superseded');
  instance.process.kill();
  const nobody = { ...controlOf(world) };
  nobody.scan.members = async () => 0;
  const left = await command(world, 'drain', { tools: nobody });
  assert.deepEqual(
    [left.outcome, left.attended, left.shards[0]?.liveJobs],
    ['unfinished', false, 1],
  );
  const tools = controlOf(world);
  const open = tools.openControl.bind(tools);
  tools.openControl = (shards) => {
    const mine = open(shards);
    const commit = mine.commit.bind(mine);
    mine.commit = async (transaction) => {
      await controlOf(world).openControl(shards).fence();
      return commit(transaction);
    };
    return mine;
  };
  await assert.rejects(command(world, 'pause', { tools }), /another command.*run it again/);
});

/** Returns control tools whose commands follow an open transaction of the owner of shard 0. */
function behindOpenTransaction(world: World, onOpen: () => void) {
  const { transactions } = world.kafka;
  const tools = controlOf(world);
  const open = tools.openControl.bind(tools);
  tools.openControl = (shards) => {
    const producer = open(shards);
    const commit = producer.commit.bind(producer);
    producer.commit = (transaction) => {
      const record = { key: 'owner', value: '{"v":1,"instance":"i","claim":"c","atMs":1}' };
      const other = transactions.initialise('other');
      transactions.append('other', other, TOPICS.journal, 0, [record]);
      onOpen();
      return commit(transaction);
    };
    return producer;
  };
  return tools;
}

test('a command after an open transaction of an owner is not mistaken for an older one', async () => {
  const world = new World({ partitions: 1 });
  const instance = world.start();
  await world.clock.runUntil(() => viewOf(instance).shards[0]?.state === 'owner', MINUTE);
  await command(world, 'pause');
  const { transactions } = world.kafka;
  const tools = behindOpenTransaction(world, () =>
    world.clock.after(10 * SECOND, () => transactions.expire('other')),
  );
  assert.equal((await command(world, 'resume', { tools })).outcome, 'reached');
});
