/** Settling and tracking, over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, withFiles } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';
import type { CommitAttempt } from '../../../support/memory/kafka/kafka.ts';
import type { ResultLine, ServiceRow } from '../../../support/memory/service/review-service.ts';
import { sliceOf } from '../../../support/records/slices.ts';

const MINUTE = 60_000;

/** One batch of `rows` records whose first result file is what `results` makes of it. */
function oneBatch(
  rows: number,
  results: (rows: readonly ServiceRow[]) => readonly ResultLine[],
  settings: WorldSettings = {},
): World {
  const { service, options, ...rest } = settings;
  const world = new World({
    partitions: 1,
    options: { ...options, batch: { maxRows: rows, maxAgeMs: 600_000, ...options?.batch } },
    service: { review: ({ id }) => (id === 'batch-1' ? { results } : {}), ...service },
    ...rest,
  });
  world.start();
  for (let n = 0; n < rows; n++) world.event(0);
  return world;
}

const offsetsBy = (world: World, attempt: number) =>
  world
    .decisions()
    .filter((one) => one.attempt === attempt)
    .map(({ offset }) => offset)
    .sort((a, b) => a - b);
const anomalies = (world: World) =>
  Object.fromEntries(
    ['malformed', 'unknown', 'duplicate', 'missing', 'unreadable'].flatMap((kind) => {
      const count = world.instances.reduce(
        (sum, { metrics }) => sum + metrics.counter('result_anomalies_total', { kind }),
        0,
      );
      return count > 0 ? [[kind, count]] : [];
    }),
  );

test('decisions go out in chunks, each in one transaction with the job’s remainder, the tombstones with the last', async () => {
  const seen: [rows: number, journal: string[]][] = [];
  const note = ({ transaction: { journal, outputs } }: CommitAttempt) => {
    if (outputs !== undefined)
      seen.push([
        outputs[0]?.records.length ?? 0,
        journal.map(
          ({ key, value }) =>
            `${key.replace(/^job\/[^/]+/, 'job')}${value === null ? ' ends' : ''}`,
        ),
      ]);
    return 'commit' as const;
  };
  const world = oneBatch(8, (rows) => rows, { hooks: { commitFate: note } });
  await world.untilSettled(MINUTE);
  assert.deepEqual(seen, [
    [3, ['job/left']],
    [3, ['job/left']],
    [2, ['job ends', 'job/left ends']],
  ]);
  world.assertExactlyOnce();
});

test('a chunk is bounded by its bytes too', async () => {
  const sizes: number[] = [];
  const world = oneBatch(10, (rows) => rows, {
    options: { chunk: { maxRows: 1000, maxBytes: 250 } },
    hooks: {
      commitFate: ({ transaction: { outputs } }) => {
        if (outputs !== undefined) sizes.push(outputs[0]?.records.length ?? 0);
        return 'commit';
      },
    },
  });
  await world.untilSettled(MINUTE);
  assert.deepEqual(sizes, [3, 3, 3, 1], 'three rows have more than 250 bytes, two have not');
});

test('duplicate, unknown and malformed rows are counted and dropped, the malformed ones with a warning', async () => {
  const world = oneBatch(5, ([a, ...rest]) => {
    assert.ok(a);
    return [
      a,
      a,
      { ...a, offset: 77 },
      { ...a, partition: 9 },
      { malformed: 'half a row' },
      ...rest,
      a,
    ];
  });
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(anomalies(world), { duplicate: 2, unknown: 2, malformed: 1 });
  assert.equal(world.service.batches.size, 1);
  const lines = world.instances[0]?.logger.lines.filter(({ fields }) => 'malformed' in fields);
  assert.deepEqual(
    lines?.map(({ level, fields }) => [level, fields.malformed, fields.reason]),
    [['warn', 1, 'half a row']],
  );
});

test('rows in any order are settled', async () => {
  const world = oneBatch(7, (rows) => rows.toReversed());
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(anomalies(world), {});
});

test('missing rows move to the next attempt; the rest is published at once', async () => {
  const world = oneBatch(6, (rows) => rows.filter(({ offset }) => offset % 2 === 0));
  await world.untilSettled(11 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    [offsetsBy(world, 1), offsetsBy(world, 2)],
    [
      [0, 2, 4],
      [1, 3, 5],
    ],
  );
  assert.deepEqual(anomalies(world), { missing: 3 });
  assert.equal(world.service.submissions(0, 0), 1);
});

test('a result file with too few rows is downloaded again, three times, before rows are called missing', async () => {
  const empty = oneBatch(6, () => []);
  await empty.untilSettled(11 * MINUTE);
  assert.equal(empty.service.calls.results, 4 + 1, 'four times the first batch, once the second');
  assert.deepEqual([anomalies(empty), offsetsBy(empty, 2).length], [{ missing: 6 }, 6]);

  const short = oneBatch(6, (rows) => rows.slice(0, 4));
  await short.untilSettled(11 * MINUTE);
  assert.equal(
    short.service.calls.results,
    4 + 1,
    'the download that settled some is the first of four',
  );
  assert.deepEqual(
    [anomalies(short), offsetsBy(short, 1), offsetsBy(short, 2)],
    [{ missing: 2 }, [0, 1, 2, 3], [4, 5]],
  );
});

test('rows that arrive with a later download are settled, and nothing is called missing', async () => {
  const world = oneBatch(6, (rows) => rows.slice(0, 4));
  await world.clock.runUntil(() => world.service.calls.results === 2, MINUTE);
  const batch = world.service.batch('batch-1');
  batch.results = batch.rows ?? [];
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    [offsetsBy(world, 1).length, anomalies(world), world.service.batches.size],
    [6, {}, 1],
  );
});

test('a result file that grows with each download is followed for as long as it does', async () => {
  let ready = 0;
  const world = oneBatch(8, (rows) => rows, {
    wrap: (ports) => ({
      ...ports,
      kind: changed(withFiles(ports.kind), {
        results: async function* (status, job, signal) {
          ready++;
          for await (const slice of withFiles(ports.kind).results(status, job, signal)) {
            yield sliceOf([...slice].slice(0, ready));
          }
        },
      }),
    }),
  });
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([ready, offsetsBy(world, 1).length, anomalies(world)], [8, 8, {}]);
});

test('a file with as many rows as promised is not downloaded again, whatever stands in them', async () => {
  const world = oneBatch(4, ([a, b]) =>
    [a, b, { malformed: 'x' }, { malformed: 'y' }].filter((row) => row !== undefined),
  );
  await world.untilSettled(11 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.calls.results, 2);
  assert.deepEqual(
    [offsetsBy(world, 1), offsetsBy(world, 2)],
    [
      [0, 1],
      [2, 3],
    ],
  );
});

test('where the service does not tell how many rows there are, the job’s own count is expected', async () => {
  const world = oneBatch(4, () => []);
  await world.clock.runUntil(
    () => world.service.batches.get('batch-1')?.state === 'finished',
    MINUTE,
  );
  world.service.batch('batch-1').expectedRows = undefined;
  await world.untilSettled(11 * MINUTE);
  assert.equal(world.service.calls.results, 4 + 1);
});

test('rows that are missing from the last attempt too get an ERROR decision', async () => {
  const world = oneBatch(4, (rows) => rows.slice(1), {
    service: { review: () => ({ results: (rows) => rows.filter(({ offset }) => offset > 0) }) },
  });
  await world.untilSettled(30 * MINUTE);
  world.assertExactlyOnce();
  const lost = world.decisions().find(({ offset }) => offset === 0);
  assert.deepEqual([lost?.status, lost?.error?.code, lost?.attempt], ['error', 'rows_missing', 2]);
});

test('a cut download goes on where it stopped: chunks settled are skipped', async () => {
  let cuts = 0;
  const world = oneBatch(12, (rows) => rows, {
    service: {
      fault: (operation) =>
        operation === 'results' && cuts < 3
          ? { failure: 'unavailable', afterRows: 4 * ++cuts }
          : undefined,
    },
  });
  await world.clock.runUntil(() => world.service.calls.results === 2, MINUTE);
  assert.deepEqual(offsetsBy(world, 1), [0, 1, 2, 3], 'rows before the cut are as good as any');
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    [anomalies(world), world.service.batches.size, world.service.calls.results],
    [{}, 1, 3],
  );
});

test('a download that ends short of its last rows with an error is tried again for as long as it is cut', async () => {
  let cuts = 0;
  const world = oneBatch(5, (rows) => rows, {
    service: {
      fault: (operation) =>
        operation === 'results' && cuts++ < 20 ? { failure: 'expired', afterRows: 0 } : undefined,
    },
  });
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([world.service.batches.size, world.service.calls.results], [1, 21]);
});

test('a result file that cannot be read at all is given up after its downloads, and the records are submitted again', async () => {
  const world = oneBatch(5, (rows) => rows, {
    service: {
      fault: (operation, id) =>
        operation === 'results' && id === 'batch-1'
          ? { failure: 'protocol', afterRows: 2 }
          : undefined,
    },
  });
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    [offsetsBy(world, 1), offsetsBy(world, 2)],
    [
      [0, 1],
      [2, 3, 4],
    ],
  );
  assert.deepEqual(anomalies(world), { unreadable: 1 });
});

test('a restart in the middle of settling downloads again, skips what is gone and counts no anomaly', async () => {
  const world = oneBatch(12, (rows) => rows, {
    hooks: {
      commitFate: ({ transaction }) =>
        transaction.outputs !== undefined && outputs++ === 2 ? 'reply-lost' : 'commit',
    },
  });
  let outputs = 0;
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.ok(outputs >= 4);
  assert.deepEqual([anomalies(world), world.service.batches.size], [{}, 1]);
});

test('rows with status ERROR are published at once by default', async () => {
  const world = oneBatch(4, (rows) =>
    rows.map((row) => (row.offset === 1 ? { ...row, status: 'error' } : row)),
  );
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    world
      .decisions()
      .filter(({ status }) => status === 'error')
      .map(({ offset, attempt }) => [offset, attempt]),
    [[1, 1]],
  );
  assert.equal(world.instances[0]?.metrics.counter('decisions_total', { status: 'ERROR' }), 1);
  assert.equal(world.instances[0]?.metrics.counter('decisions_total', { status: 'SUCCESS' }), 3);
});

test('a state that nobody has heard of counts as pending, and is logged once', async () => {
  const world = oneBatch(3, (rows) => rows, { service: { review: () => ({ state: 'unknown' }) } });
  await world.clock.advance(MINUTE);
  assert.equal(world.decisions().length, 0);
  const lines = world.instances[0]?.logger.lines.filter(({ message }) =>
    message.includes('does not know: treated as pending'),
  );
  assert.deepEqual(
    lines?.map(({ level, fields }) => [level, fields.state]),
    [['warn', 'UNKNOWN']],
  );
  world.service.finish('batch-1');
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});

test('a transaction of decisions that failed makes the next owner in this process try smaller ones, and grow again', async () => {
  const sizes: number[] = [];
  let failing = true;
  const world = oneBatch(2_000, (rows) => rows, {
    budgetBytes: 10_000_000,
    options: { chunk: { maxRows: 800, maxBytes: 10_000_000 } },
    hooks: {
      commitFate: ({ transaction: { outputs } }) => {
        if (outputs === undefined) return 'commit';
        sizes.push(outputs[0]?.records.length ?? 0);
        if (!failing) return 'commit';
        failing = false;
        return 'fenced';
      },
    },
  });
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(sizes, [800, 400, 800, 800]);
});
