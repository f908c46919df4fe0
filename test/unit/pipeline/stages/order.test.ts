/** `output.order: source`: the batches of each partition publish in the order in which they were submitted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJournalRecord } from '../../../../src/core/journal/journal-records.ts';
import type { GroupListener } from '../../../../src/core/ports/kafka.ts';
import { changed } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';
import type { CommitAttempt } from '../../../support/memory/kafka/kafka.ts';

const MINUTE = 60_000;

/** A world whose outputs are in order, and what it published, transaction by transaction: the lines of its decisions. */
function ordered(settings: WorldSettings = {}) {
  const roots = new Map<string, string>();
  const published: { root: string; partition: number; offset: number; type: string }[] = [];
  const note = ({ transaction: { journal, outputs = [] } }: CommitAttempt) => {
    for (const { key, value } of journal) {
      const entry = readJournalRecord(key, value);
      if (entry.entry === 'job' && entry.value !== null) roots.set(entry.id, entry.value.root);
    }
    for (const { topic, records } of outputs) {
      if (topic !== 'decisions') continue;
      for (const { value } of records) {
        const { job, partition, offset, type } = JSON.parse(String(value));
        published.push({ root: roots.get(job) as string, partition, offset, type });
      }
    }
    return 'commit' as const;
  };
  const { options, hooks, ...rest } = settings;
  const world = new World({
    partitions: 1,
    options: { output: { order: 'source' }, ...options },
    hooks: { commitFate: note, ...hooks },
    ...rest,
  });
  return { world, published };
}

/** The lines in the order in which they began and ended to publish; one that was interrupted appears twice. */
function lines(published: readonly { root: string }[]): string[] {
  return published.map(({ root }) => root).filter((root, at, all) => root !== all[at - 1]);
}

const offsets = (published: readonly { offset: number }[]) => published.map(({ offset }) => offset);

test('a batch that is through waits for the one before it, and says so', async () => {
  const { world, published } = ordered({
    service: { review: ({ id }) => ({ afterMs: id === 'batch-1' ? 30_000 : 100 }) },
  });
  const instance = world.start();
  for (let n = 0; n < 10; n++) world.event(0);
  await world.clock.advance(20_000);
  assert.deepEqual([world.service.batches.size, published.length], [2, 0]);
  assert.equal(instance.gauge('shards_paused', { reason: 'order' }), 1);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(offsets(published), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(instance.gauge('shards_paused', { reason: 'order' }), 0);
});

test('without it, decisions go out as batches finish', async () => {
  const { world, published } = ordered({
    options: { output: { order: 'completion' } },
    service: { review: ({ id }) => ({ afterMs: id === 'batch-1' ? 30_000 : 100 }) },
  });
  world.start();
  for (let n = 0; n < 10; n++) world.event(0);
  await world.clock.advance(20_000);
  assert.deepEqual(offsets(published), [5, 6, 7, 8, 9]);
});

test('batches of other partitions wait for nobody', async () => {
  const { world, published } = ordered({
    partitions: 2,
    options: { journal: { partitions: 1 } },
    service: {
      review: ({ rows = [] }) => ({
        afterMs: rows.some(({ partition }) => partition === 0) ? 60_000 : 100,
      }),
    },
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0, 'a');
  await world.clock.advance(5_000);
  for (let n = 0; n < 5; n++) world.event(1, 'b');
  await world.clock.advance(20_000);
  assert.deepEqual(
    published.map(({ partition }) => partition),
    [1, 1, 1, 1, 1],
  );
  await world.untilSettled(3 * MINUTE);
  world.assertExactlyOnce();
});

test('a hanging create holds up the batches of its type, not those of another', async () => {
  let hung = false;
  const { world, published } = ordered({
    service: {
      fault: (operation, _id, type) => {
        if (operation !== 'create' || type !== 'a' || hung) return undefined;
        hung = true;
        return { hangMs: 30_000, failure: 'unavailable' };
      },
    },
  });
  world.start();
  for (let n = 0; n < 10; n++) world.event(0, 'a');
  for (let n = 0; n < 5; n++) world.event(0, 'b');
  await world.clock.advance(20_000);
  assert.deepEqual([...new Set(published.map(({ type }) => type))], ['b']);
  await world.untilSettled(3 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    offsets(published.filter(({ type }) => type === 'a')),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
});

test('what is submitted again keeps its place: missing rows, failed batches and their halves', async () => {
  for (const first of ['missing', 'failed', 'too_large'] as const) {
    const { world, published } = ordered({
      options: { review: { typePauseMs: 1000 } },
      service: {
        review: ({ id }) =>
          id !== 'batch-1'
            ? {}
            : first === 'missing'
              ? { results: (rows) => rows.slice(2) }
              : first === 'failed'
                ? { state: 'failed' }
                : {},
        fault: (operation, id) =>
          first === 'too_large' && operation === 'upload' && id === 'batch-1'
            ? { failure: 'too_large' }
            : undefined,
      },
    });
    world.start();
    for (let n = 0; n < 15; n++) world.event(0);
    await world.untilSettled(15 * MINUTE);
    world.assertExactlyOnce();
    assert.equal(lines(published).length, 3, `${first}: ${lines(published).join(' ')}`);
    assert.deepEqual(
      published.map(({ offset }) => Math.floor(offset / 5)),
      [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2],
    );
  }
});

test('a batch that ends in ERROR decisions waits for the batch before it as well', async () => {
  const { world, published } = ordered({
    options: { review: { attempts: 1, typePauseMs: 1000 }, batch: { maxRows: 1 } },
    service: {
      review: ({ rows = [] }) =>
        rows[0]?.offset === 1 ? { state: 'failed' } : { afterMs: 60_000 },
    },
  });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(15 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(offsets(published), [0, 1, 2]);
});

test('a successor keeps the order of what it finds in the journal', async () => {
  const { world, published } = ordered({
    service: { review: ({ id }) => ({ afterMs: id === 'batch-1' ? 120_000 : 100 }) },
  });
  const first = world.start();
  for (let n = 0; n < 10; n++) world.event(0);
  await world.clock.runUntil(() => world.service.calls.upload === 2, MINUTE);
  first.process.kill();
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    offsets(published),
    Array.from({ length: 15 }, (_, n) => n),
  );
});

test('a batch goes on when the one before it has nothing left of its partition, and does not wait for the rest of it', async () => {
  // The first batch holds records of both partitions; the service withholds the row of the other one.
  const { world, published } = ordered({
    partitions: 2,
    options: {
      output: { order: 'source' },
      journal: { partitions: 1 },
      batch: { maxRows: 2 },
      review: { downloadRetries: 10_000 },
    },
    service: {
      review: ({ id }) =>
        id === 'batch-1'
          ? { afterMs: 20_000, results: (rows) => rows.filter(({ partition }) => partition === 0) }
          : {},
    },
  });
  world.start();
  await world.clock.advance(2_000);
  world.event(0);
  world.event(1);
  await world.clock.advance(1_000);
  world.event(0);
  world.event(0);
  await world.clock.advance(MINUTE);
  assert.deepEqual(
    published.map(({ partition, offset }) => [partition, offset]),
    [
      [0, 0],
      [0, 1],
      [0, 2],
    ],
  );
});

test('a turn that is asked for after the shard was lost ends, and whatever step a worker is at, nobody waits for it', async () => {
  for (let hops = 0; hops < 16; hops++) {
    let lost = false;
    let events: GroupListener | undefined;
    const world = new World({
      partitions: 1,
      options: { output: { order: 'source' }, batch: { maxRows: 1 } },
      service: { review: ({ id }) => ({ afterMs: id === 'batch-1' ? 'never' : 100 }) },
      wrap: (ports) => ({
        ...ports,
        group: changed(ports.group, {
          start: (given) => {
            events = given;
            return ports.group.start(given);
          },
        }),
        kind: changed(ports.kind, {
          status: async (id, signal, type) => {
            const status = await ports.kind.status(id, signal, type);
            if (id !== 'batch-1' && status.state === 'finished' && !lost) {
              lost = true;
              let step = Promise.resolve();
              for (let hop = 0; hop < hops; hop++) step = step.then(() => undefined);
              void step.then(() =>
                events?.joined({ generation: 99, shardCount: 1, shards: new Map() }),
              );
            }
            return status;
          },
        }),
      }),
    });
    const instance = world.start();
    world.event(0);
    world.event(0);
    await world.clock.advance(2 * MINUTE);
    assert.ok(lost);
    assert.equal(
      instance.gauge('shards_paused', { reason: 'order' }) ?? 0,
      0,
      `lost ${hops} steps after the answer`,
    );
  }
});
