/** I8: waits have reasons, and outages of an hour lose and restart nothing. Tested with the engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PipelineKind } from '../../../../src/core/ports/pipeline-kind.ts';
import type { PipelinePorts } from '../../../../src/pipeline/context/pipeline-context.ts';
import type { WaitReason } from '../../../../src/pipeline/limits/wait-reasons.ts';
import { Health } from '../../../../src/telemetry/health.ts';
import { type Instance, World, type WorldSettings } from '../../../support/engine/world.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';

const MINUTE = 60_000;

/** Returns a world with one instance that reports to the real health. */
function world(settings: WorldSettings = {}) {
  let health: Health | undefined;
  const made: World = new World({
    ...settings,
    wrap: (ports, self) => {
      health = new Health(() => made.clock.now());
      return { ...(settings.wrap?.(ports, self) ?? ports), health };
    },
  });
  const instance = made.start();
  return { world: made, instance, health: health as unknown as Health };
}

const waits = (instance: Instance, reason: WaitReason): number =>
  instance.gauge('shards_paused', { reason }) ?? 0;
const told = (instance: Instance): unknown[] =>
  instance.logger.lines
    .filter(({ message }) => message === 'pipeline stalled')
    .map(({ fields }) => fields.reason);

test('while Kafka is unreachable for an hour, the process is live and not ready, and later settles all records once', async () => {
  let away = false;
  const {
    world: it,
    instance,
    health,
  } = world({
    partitions: 4,
    hooks: {
      commitFate: () => (away ? 'unsent' : 'commit'),
      failure: () => (away ? new Error('no broker can be reached') : undefined),
    },
    service: { review: () => ({ afterMs: 20_000 }) },
  });
  it.produce(60, { poisonEvery: 9 });
  await it.clock.advance(10_000);
  assert.ok(it.liveJobs().length > 0, 'the outage begins while work is in flight');
  away = true;
  instance.group.isolate();
  for (let minute = 1; minute <= 60; minute++) {
    await it.clock.advance(MINUTE);
    assert.equal(health.liveness().ok, true, JSON.stringify(health.liveness()));
    const why = health.readiness().conditions.map(({ reason }) => reason ?? '');
    assert.match(
      why.join('; '),
      /the brokers have not responded to group reviewers for \d+ s|not a member of group/,
    );
  }
  assert.ok(waits(instance, 'kafka') > 0);
  assert.ok(told(instance).includes('kafka'));
  away = false;
  instance.group.heal();
  await it.untilSettled(3 * MINUTE);
  it.assertExactlyOnce();
  await it.clock.advance(10_000);
  assert.equal(health.readiness().ok, true);
  assert.equal(instance.refused, undefined);
});

test('a member that left the group is not ready, with the reason, until it has joined again', async () => {
  const { world: it, instance, health } = world({ partitions: 1 });
  await it.clock.advance(5_000);
  assert.equal(health.readiness().ok, true);
  instance.group.crash('the client was rebuilt');
  await it.clock.settle();
  assert.deepEqual(
    health.readiness().conditions.flatMap(({ reason }) => reason ?? []),
    ['not a member of group reviewers: the client was rebuilt'],
  );
  await it.clock.advance(MINUTE);
  assert.equal(health.readiness().ok, true);
});

test('while the service hangs for an hour, the process is live and ready, reports the wait within seconds, and loses nothing', async () => {
  let hung = true;
  const {
    world: it,
    instance,
    health,
  } = world({
    service: { fault: () => (hung ? { hangMs: 10 * MINUTE } : undefined) },
  });
  it.produce(40);
  await it.clock.advance(10_000);
  assert.ok(waits(instance, 'service') > 0, 'before the first request has timed out');
  assert.ok(told(instance).includes('service'));
  for (let minute = 1; minute <= 60; minute++) {
    await it.clock.advance(MINUTE);
    assert.deepEqual([health.liveness().ok, health.readiness().ok], [true, true]);
  }
  assert.ok(waits(instance, 'transfer') > 0, 'shards without a permit report their wait');
  hung = false;
  await it.untilSettled(12 * MINUTE);
  it.assertExactlyOnce();
  await it.clock.advance(10_000);
  for (const reason of ['service', 'transfer'] as const) assert.equal(waits(instance, reason), 0);
});

test('a rare type of a quiet partition is submitted soon although the memory budget is always full', async () => {
  const { world: it, instance } = world({
    partitions: 8,
    budgetBytes: 400_000,
    options: { batch: { maxRows: 10, maxAgeMs: 2_000 }, concurrency: { transfers: 1 } },
    kafka: { maxBatchRecords: 10 },
    wrap: (ports) =>
      withKind(ports, {
        upload: async (job, body, signal) => {
          await ports.clock.sleep(500, signal);
          return ports.kind.upload(job, body, signal);
        },
      }),
  });
  const loud = sourceValue({ type: 'loud', content: 'x'.repeat(2_000) });
  for (let n = 0; n < 4_000; n++) it.put(n % 7, loud);
  await it.clock.advance(30_000);
  assert.ok(waits(instance, 'memory') > 0);
  it.event(7, 'quiet');
  const fromMs = it.clock.now();
  const submitted = () =>
    [...it.service.batches.values()].some(
      ({ type, rows }) => type === 'quiet' && rows !== undefined,
    );
  await it.clock.runUntil(submitted, 10 * MINUTE);
  const tookMs = it.clock.now() - fromMs;
  assert.ok(waits(instance, 'memory') > 0, 'the budget is still full');
  // Maximum age of the buffer, plus the uploads of all batches in the budget and of one fetched batch per other shard.
  assert.ok(tookMs < 2_000 + (14 + 2 * 8) * 500, `${tookMs} ms`);
});

/** Returns the ports with some calls of the kind replaced. */
function withKind(ports: PipelinePorts, calls: Partial<PipelineKind>): PipelinePorts {
  const kind = new Proxy(ports.kind, {
    get: (of, name) => {
      const value = Reflect.get(calls, name) ?? Reflect.get(of, name);
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
  return { ...ports, kind };
}
