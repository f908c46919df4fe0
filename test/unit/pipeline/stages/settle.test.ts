/** Settling and tracking, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, withFiles } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';
import type { ResultLine, ServiceRow } from '../../../support/memory/service/review-service.ts';
import { sliceOf } from '../../../support/records/slices.ts';

const MINUTE = 60_000;

/** Starts a world with one batch of `rows` records, whose first result file is built by `results`. */
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
    ['malformed', 'duplicate', 'missing', 'unreadable'].flatMap((kind) => {
      const count = world.instances.reduce(
        (sum, { metrics }) => sum + metrics.counter('result_anomalies_total', { kind }),
        0,
      );
      return count > 0 ? [[kind, count]] : [];
    }),
  );

test('a result file with too few rows is downloaded three more times before rows count as missing', async () => {
  const empty = oneBatch(6, () => []);
  await empty.untilSettled(11 * MINUTE);
  assert.equal(empty.service.calls.results, 4 + 1, 'four of the first batch, one of the second');
  assert.deepEqual([anomalies(empty), offsetsBy(empty, 2).length], [{ missing: 6 }, 6]);

  const short = oneBatch(6, (rows) => rows.slice(0, 4));
  await short.untilSettled(11 * MINUTE);
  assert.equal(
    short.service.calls.results,
    4 + 1,
    'the download that settled rows is the first of four',
  );
  assert.deepEqual(
    [anomalies(short), offsetsBy(short, 1), offsetsBy(short, 2)],
    [{ missing: 2 }, [0, 1, 2, 3], [4, 5]],
  );
});

test('a result file is downloaded again as long as it grows', async () => {
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

test('a file with the expected number of rows is not downloaded again, even if the rows are malformed', async () => {
  const world = oneBatch(4, ([a, b]) =>
    [a, b, { malformed: 'x' }, { malformed: 'y' }].filter((row) => row !== undefined),
  );
  await world.untilSettled(11 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.calls.results, 2);
  assert.deepEqual(
    [anomalies(world), offsetsBy(world, 1), offsetsBy(world, 2)],
    [{ malformed: 2, missing: 2 }, [0, 1], [2, 3]],
  );
});

test('without a row count of the service, the number of records in the job is expected', async () => {
  const world = oneBatch(4, () => []);
  await world.clock.runUntil(
    () => world.service.batches.get('batch-1')?.state === 'finished',
    MINUTE,
  );
  world.service.batch('batch-1').expectedRows = undefined;
  await world.untilSettled(11 * MINUTE);
  assert.equal(world.service.calls.results, 4 + 1);
});

test('a download that fails before its last rows is retried as long as it fails', async () => {
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

test('after a failed transaction of decisions the next owner in the process starts with smaller transactions', async () => {
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
