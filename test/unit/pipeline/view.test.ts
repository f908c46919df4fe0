/** State of the pipeline for operators (Pipeline.view). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Instance, World } from '../../support/engine/world.ts';
import type { ServiceScript } from '../../support/memory/service/review-service.ts';

const NEVER: ServiceScript = { review: () => ({ afterMs: 'never' }) };
const jobsOf = (instance: Instance) => instance.pipeline.view().jobs;

test('a batch under review shows its id, type, age, rows and first record', async () => {
  const world = new World({ service: NEVER });
  const instance = world.start();
  world.produce(5, { types: ['a'] });
  await world.clock.runUntil(() => jobsOf(instance)[0]?.remoteState != null, 60_000);
  const view = instance.pipeline.view();
  const [job] = view.jobs;
  assert.deepEqual([job?.type, job?.phase, job?.attempt], ['a', 'reviewing', 1]);
  assert.ok(job !== undefined && job.rows === job.left && job.left > 0);
  assert.deepEqual(job.first, { partition: job.shard, offset: 0 });
  assert.ok(job.createdMs >= job.oldestEventMs && job.askedMs !== null);
  assert.equal(view.jobCount, view.jobs.length);
  assert.deepEqual(
    view.shards.map(({ shard, state }) => [shard, state]),
    [
      [0, 'owner'],
      [1, 'owner'],
    ],
  );
  const { ownedSinceMs } = view.shards[0] as (typeof view.shards)[number];
  assert.ok(ownedSinceMs !== null && ownedSinceMs <= world.clock.now());
});

test('only the oldest batches are listed, and all are counted', async () => {
  const world = new World({ service: NEVER });
  const instance = world.start();
  world.produce(300, { types: ['a'] });
  await world.clock.runUntil(() => instance.pipeline.view().jobCount >= 60, 60_000);
  const view = instance.pipeline.view();
  assert.deepEqual([view.jobs.length, view.jobCount], [50, 60]);
  const created = jobsOf(instance).map(({ createdMs }) => createdMs);
  assert.deepEqual(
    created,
    created.toSorted((a, b) => a - b),
  );
});

test('a batch is settling while its results are downloaded, and under review between two downloads', async () => {
  let downloads = 0;
  const world = new World({
    service: {
      fault: (operation) => {
        if (operation !== 'results') return undefined;
        return downloads++ === 0
          ? { failure: 'unavailable', retryAfterMs: 60_000 }
          : { hangMs: 60_000 };
      },
    },
  });
  const instance = world.start();
  world.event(0);
  const phases: (string | undefined)[] = [];
  for (const download of [1, 2]) {
    await world.clock.runUntil(() => downloads === download, 180_000);
    await world.clock.settle();
    phases.push(jobsOf(instance)[0]?.phase);
  }
  assert.deepEqual(phases, ['reviewing', 'settling']);
});

for (const [what, failure, reason] of [
  ['that rejects the key', 'unauthorized', 'api_key'],
  ['with invalid responses', 'protocol', 'service'],
] as const) {
  test(`a service ${what} is shown as a wait with its start time`, async () => {
    let failing = false;
    const world = new World({
      service: {
        ...NEVER,
        fault: (operation) => (failing && operation === 'status' ? { failure } : undefined),
      },
    });
    const instance = world.start();
    world.produce(5, { types: ['a'] });
    await world.clock.runUntil(() => jobsOf(instance)[0]?.remoteState != null, 60_000);
    failing = true;
    await world.clock.runUntil(() => instance.pipeline.view().waits[0]?.reason === reason, 60_000);
    const [wait] = instance.pipeline.view().waits;
    assert.ok(
      wait !== undefined &&
        wait.sinceMs <= world.clock.now() &&
        wait.who.every((who) => who.startsWith('shard ')),
    );
  });
}
