/** DESIGN 3 'Seal and create', 'Recover', 'Rewind' and 'Track', over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed } from '../../support/engine/changed.ts';
import { UploadWatch } from '../../support/engine/upload-watch.ts';
import { TOPICS, World, type WrapPorts } from '../../support/engine/world.ts';
import { sourceValue } from '../../support/memory/scripted-kind.ts';

const MINUTE = 60_000;

const batches = (world: World) => [...world.service.batches.values()];
/** Offsets of each batch that was uploaded, in the order of creation. */
const uploads = (world: World) => batches(world).map(({ rows }) => rows?.map(({ offset }) => offset) ?? []);

test('no upload before its job is in the journal (I4), also when the transaction fails, its reply is lost, or its owner dies', async () => {
  for (const fate of ['aborted', 'lost', 'reply-lost', 'fenced', 'commit'] as const) {
    const watch = new UploadWatch(TOPICS.journal);
    let jobs = 0;
    const world: World = new World({
      partitions: 1,
      hooks: {
        commitFate: ({ transaction }) =>
          transaction.journal.some(({ key }) => key.startsWith('job/')) && jobs++ === 0 ? fate : 'commit',
      },
      service: { onUpload: (id) => watch.uploaded(world.kafka.cluster, id) },
    });
    world.start();
    for (let n = 0; n < 5; n++) world.event(0);
    await world.untilSettled(10 * MINUTE);
    world.assertExactlyOnce();
    assert.deepEqual(watch.early, [], fate);
    // What was never committed was never uploaded either: the batch is an orphan that costs nothing.
    const committed = fate === 'commit' || fate === 'reply-lost';
    assert.deepEqual(uploads(world)[0], committed && fate === 'commit' ? [0, 1, 2, 3, 4] : [], fate);
    assert.ok(world.service.submissions(0, 0) === 1, fate);
  }
});

test('an upload waits while the group has not heard from its member, and goes on once it has', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 100, maxAgeMs: 40_000 } } });
  const instance = world.start();
  await world.clock.advance(2_000);
  world.event(0);
  await world.clock.advance(1_000);
  instance.group.isolate();
  await world.clock.advance(MINUTE);
  assert.deepEqual([world.service.calls.create, world.service.calls.upload], [1, 0]);
  assert.equal(instance.gauge('shards_paused', { reason: 'membership' }), 1);
  assert.equal(world.liveJobs().length, 1, 'the job is in the journal, waiting for its upload');
  instance.group.heal();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.submissions(0, 0), 1);
  await world.clock.advance(1_000);
  assert.equal(instance.gauge('shards_paused', { reason: 'membership' }), 0);
});

test('a batch waiting for its upload is abandoned after the grace, not before', async () => {
  const world = new World({ partitions: 1, service: { arrivalMs: (id) => (id === 'batch-1' ? 'never' : 0) } });
  const instance = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.runUntil(() => world.service.calls.upload === 1, MINUTE);
  const uploadedMs = world.clock.now();
  await world.clock.advance(59_900);
  assert.equal(batches(world).length, 1);
  await world.clock.runUntil(() => batches(world).length === 2, 10_000);
  const waitedMs = world.clock.now() - uploadedMs;
  assert.ok(waitedMs >= 60_000 && waitedMs < 66_000, `${waitedMs} ms: the grace, and at most one poll`);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.equal(instance.metrics.counter('jobs_failed_total', { reason: 'upload_lost' }), 1);
  assert.equal(instance.metrics.counter('items_resubmitted_total'), 5);
  assert.deepEqual([...new Set(world.decisions().map(({ attempt, remote }) => `${remote} ${attempt}`))], ['batch-2 2']);
});

test('an upload that the service sees within the grace is not sent again', async () => {
  const world = new World({ partitions: 1, service: { arrivalMs: () => 55_000 } });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.untilSettled(2 * MINUTE);
  assert.equal(batches(world).length, 1);
  world.assertExactlyOnce();
});

test('a late upload after the abandonment publishes nothing twice', async () => {
  const world = new World({
    partitions: 1,
    service: { arrivalMs: (id) => (id === 'batch-1' ? 'never' : 0), review: () => ({ afterMs: 20_000 }) },
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.runUntil(() => batches(world).length === 2, 2 * MINUTE);
  world.service.arrive('batch-1');
  world.service.finish('batch-1');
  await world.untilSettled(2 * MINUTE);
  await world.clock.advance(2 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.submissions(0, 0), 2, 'submission is at least once');
  assert.deepEqual([...new Set(world.decisions().map(({ remote }) => remote))], ['batch-2']);
});

test('a restart counts the grace from its claim: the upload may have been made by the owner before it', async () => {
  const world = new World({ partitions: 1, service: { arrivalMs: (id) => (id === 'batch-1' ? 'never' : 0) } });
  const first = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(50_000);
  await world.through(first.stop());
  world.start();
  const claimedMs = world.clock.now();
  await world.clock.runUntil(() => batches(world).length === 2, 2 * MINUTE);
  assert.ok(world.clock.now() - claimedMs >= 60_000);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});

test('after a restart each live job goes on from where the service has it: waiting, pending, finished, failed or forgotten', async () => {
  const plans = { waits: 'never', pends: 'never', ends: 'never', fails: 'never', lost: 'never' } as const;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    service: { review: ({ rows }) => (rows?.[0] !== undefined && first ? { afterMs: 'never' } : {}) },
  });
  let first = true;
  const one = world.start();
  for (const type of Object.keys(plans)) world.event(0, type);
  await world.clock.advance(10_000);
  const idOf = (type: string) => batches(world).find((batch) => batch.type === type)?.id ?? assert.fail(type);
  one.process.kill();
  first = false;
  world.service.finish(idOf('ends'));
  world.service.end(idOf('fails'), 'failed');
  world.service.end(idOf('lost'), 'missing');
  world.start();
  await world.clock.advance(45_000);
  assert.deepEqual(
    world
      .decisions()
      .map(({ type }) => type)
      .sort(),
    ['ends', 'fails'],
  );
  world.service.finish(idOf('pends'));
  world.service.finish(idOf('waits'));
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    Object.keys(plans).map((type) => batches(world).filter((batch) => batch.type === type).length),
    [1, 1, 1, 2, 2],
  );
});

test('a batch that the service no longer knows is given up only after the grace for that', async () => {
  const world = new World({ partitions: 1, service: { review: ({ id }) => (id === 'batch-1' ? { afterMs: 'never' } : {}) } });
  const instance = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(10_000);
  const { state } = world.service.batch('batch-1');
  world.service.end('batch-1', 'missing');
  await world.clock.advance(50_000);
  world.service.batch('batch-1').state = state;
  await world.clock.advance(20_000);
  world.service.end('batch-1', 'missing');
  await world.clock.advance(55_000);
  assert.equal(batches(world).length, 1, 'known again in between: the grace begins anew');
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.equal(instance.metrics.counter('jobs_failed_total', { reason: 'batch_unknown' }), 1);
});

test('a create that was done though its reply was lost leaves an orphan without an upload', async () => {
  let lost = true;
  const world = new World({
    partitions: 1,
    service: {
      fault: (operation) => {
        if (operation !== 'create' || !lost) return undefined;
        lost = false;
        return { failure: 'unavailable', after: true };
      },
    },
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(uploads(world), [[], [0, 1, 2, 3, 4]]);
});

test('an upload that failed after all is tried again for the same batch, one whose effect was seen is reviewed once', async () => {
  for (const after of [false, true]) {
    let failures = 0;
    const world = new World({
      partitions: 1,
      service: {
        fault: (operation) => (operation === 'upload' && failures++ < 3 ? { failure: 'unavailable', after } : undefined),
      },
    });
    world.start();
    for (let n = 0; n < 5; n++) world.event(0);
    await world.untilSettled(MINUTE);
    world.assertExactlyOnce();
    assert.deepEqual([batches(world).length, world.service.submissions(0, 0)], [1, 1]);
  }
});

test('Retry-After is a floor for the next try', async () => {
  const asked: number[] = [];
  const world: World = new World({
    partitions: 1,
    service: {
      fault: (operation) => {
        if (operation !== 'create') return undefined;
        asked.push(world.clock.now());
        return asked.length < 4 ? { failure: 'unavailable', retryAfterMs: 45_000 } : undefined;
      },
    },
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.untilSettled(10 * MINUTE);
  for (let n = 1; n < 4; n++) assert.ok((asked[n] as number) - (asked[n - 1] as number) >= 45_000);
});

test('a poll that is told to wait waits that long', async () => {
  const asked: number[] = [];
  const world: World = new World({
    partitions: 1,
    service: {
      fault: (operation) => {
        if (operation !== 'status') return undefined;
        asked.push(world.clock.now());
        return asked.length === 1 ? { failure: 'unavailable', retryAfterMs: 120_000 } : undefined;
      },
    },
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.untilSettled(10 * MINUTE);
  assert.ok((asked[1] as number) - (asked[0] as number) >= 120_000);
});

test('hundreds of jobs found by a restart are polled a few at a time, not in a storm', async () => {
  let open = 0;
  let most = 0;
  const world = new World({
    partitions: 1,
    budgetBytes: 10_000_000,
    options: { batch: { maxRows: 1 }, concurrency: { polls: 3, uploads: 50 } },
    service: { review: () => ({ afterMs: 'never' }) },
    wrap: (ports, { clock }) => ({
      ...ports,
      kind: changed(ports.kind, {
        status: async (...asked: Parameters<typeof ports.kind.status>) => {
          most = Math.max(most, ++open);
          await clock.sleep(400);
          return ports.kind.status(...asked).finally(() => open--);
        },
      }),
    }),
  });
  const first = world.start();
  world.produce(200);
  await world.clock.advance(10_000);
  first.process.kill();
  open = 0;
  most = 0;
  world.start();
  await world.clock.advance(50_000);
  assert.equal(most, 3);
});

/** Uploads take `ms`, and say whether they were let through to their end. */
const slowUploads =
  (ms: number, outcomes: string[]): WrapPorts =>
  (ports, { clock }) => ({
    ...ports,
    kind: changed(ports.kind, {
      upload: async (job, body, signal) => {
        await clock.sleep(ms, signal).catch((error: unknown) => {
          outcomes.push(`${job.remoteId} given up`);
          throw error;
        });
        outcomes.push(`${job.remoteId} through`);
        return ports.kind.upload(job, body, signal);
      },
    }),
  });

test('a lost shard lets an upload under way end, but no longer than the drain allows', async () => {
  for (const [uploadMs, expected] of [
    [15_000, ['batch-1 through']],
    [25_000, ['batch-1 given up', 'batch-2 through']],
  ] as const) {
    const outcomes: string[] = [];
    const world = new World({
      partitions: 1,
      options: { timing: { uploadDrainMs: 20_000, probeIntervalMs: 1_000 } },
      wrap: slowUploads(uploadMs, outcomes),
    });
    world.start();
    for (let n = 0; n < 5; n++) world.event(0);
    await world.clock.advance(500);
    world.kafka.transactions.initialise(`${TOPICS.journal}-0`);
    await world.untilSettled(5 * MINUTE);
    world.assertExactlyOnce();
    assert.deepEqual(outcomes, expected);
  }
});

test('an instance that stops gives up uploads after a second, and starts none', async () => {
  const outcomes: string[] = [];
  const world = new World({ partitions: 1, wrap: slowUploads(10_000, outcomes) });
  const first = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(500);
  const stopMs = world.clock.now();
  await world.through(first.stop());
  assert.ok(world.clock.now() - stopMs <= 1_500);
  assert.deepEqual(outcomes, ['batch-1 given up']);

  let jobs = 0;
  const other = new World({
    partitions: 1,
    hooks: {
      commitFate: ({ transaction }) => {
        if (transaction.journal.some(({ key }) => key.startsWith('job/')) && jobs++ === 0) void instance.stop();
        return 'commit';
      },
    },
  });
  const instance = other.start();
  for (let n = 0; n < 5; n++) other.event(0);
  await other.clock.advance(10_000);
  assert.deepEqual([jobs, other.liveJobs().length, other.service.calls.upload], [1, 1, 0], 'its job is for the next owner');
});

test('the grace begins when the upload is through, however long that took', async () => {
  const world: World = new World({
    partitions: 1,
    service: {
      arrivalMs: (id) => (id === 'batch-1' ? 'never' : 0),
      fault: (operation) => (operation === 'upload' && world.clock.now() < untilMs ? { failure: 'unavailable' } : undefined),
    },
  });
  const untilMs = world.clock.now() + 50_000;
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(105_000);
  assert.equal(batches(world).length, 1);
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
});

test('stopping releases the shards within the time of one transaction, and leaves the jobs to the next owner', async () => {
  const world = new World({ partitions: 4, service: { review: () => ({ afterMs: 30_000 }) } });
  const first = world.start();
  world.produce(100);
  await world.clock.advance(10_000);
  const jobs = world.liveJobs().length;
  assert.ok(jobs >= 20);
  const stopMs = world.clock.now();
  await world.through(first.stop());
  await world.through(first.stop());
  assert.ok(world.clock.now() - stopMs < 1_000);
  assert.equal(world.liveJobs().length, jobs);
  assert.deepEqual([first.gauge('items_in_flight'), first.budget.usedBytes], [0, 0]);
  world.start();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  for (let p = 0; p < 4; p++) for (let offset = 0; offset < 25; offset++) assert.equal(world.service.submissions(p, offset), 1);
});

test('records that retention removed before a retry become dead letters with their coordinates and nothing else', async () => {
  const world = new World({
    partitions: 1,
    service: { review: ({ id }) => (id === 'batch-1' ? { afterMs: 30_000, state: 'failed' } : {}) },
  });
  const instance = world.start();
  for (let n = 0; n < 5; n++) world.put(0, sourceValue({ type: 'a', content: 'x' }), { key: `k${n}`, headers: { trace: 't' } });
  await world.clock.advance(20_000);
  world.kafka.cluster.log(TOPICS.source, 0).deleteBefore(3);
  await world.clock.advance(MINUTE);
  assert.deepEqual(
    world
      .decisions()
      .map(({ offset }) => offset)
      .sort(),
    [3, 4],
  );
  const letters = world
    .published('dead')
    .map(({ key, value, headers }) => [
      key,
      value,
      headers.trace,
      String(headers['dead-letter-reason']),
      String(headers['dead-letter-stage']),
      String(headers['dead-letter-offset']),
    ]);
  assert.deepEqual(
    letters.toSorted(),
    [0, 1, 2].map((offset) => [null, null, undefined, 'source_unavailable', 'rewind', String(offset)]),
  );
  assert.equal(instance.metrics.counter('dead_lettered_total', { reason: 'source_unavailable' }), 3);
  await world.clock.advance(1_000);
  assert.equal(instance.gauge('balance_items'), 0);
});

test('a source that lost everything ends every waiting retry as dead letters', async () => {
  const world = new World({
    partitions: 1,
    service: { review: ({ id }) => (id === 'batch-1' ? { afterMs: 30_000, state: 'failed' } : {}) },
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(20_000);
  world.kafka.cluster.log(TOPICS.source, 0).deleteBefore(5);
  await world.clock.advance(MINUTE);
  assert.deepEqual([world.decisions().length, world.published('dead').length, world.liveJobs().length], [0, 5, 0]);
});

test('records that are wanted again keep their job’s type and pass the filters of today', async () => {
  let filter = false;
  const world = new World({
    partitions: 1,
    service: { review: ({ id }) => (id === 'batch-1' ? { afterMs: 10_000, state: 'failed' } : {}) },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        decode: (...given: Parameters<typeof ports.kind.decode>) =>
          filter && given[2] === undefined ? { skip: 'filtered' } : ports.kind.decode(...given),
      }),
    }),
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0, 'old type');
  await world.clock.advance(5_000);
  filter = true;
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    batches(world).map(({ type, rows }) => [type, rows?.length]),
    [
      ['old type', 5],
      ['old type', 5],
    ],
  );
});

test('a rewind that the cluster refuses is tried again by the next claim', async () => {
  let refusals = 0;
  const world = new World({
    partitions: 1,
    hooks: { failure: (operation) => (operation === 'read' && refusals++ < 2 ? new Error('no leader') : undefined) },
    service: { review: ({ id }) => (id === 'batch-1' ? { state: 'failed' } : {}) },
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(refusals, 3);
});
