/** Result files that settle nothing pause their types. A row that breaks its file is isolated. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';
import type { ResultLine, ReviewPlan } from '../../../support/memory/service/review-service.ts';
import type { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';

const MINUTE = 60_000;

/** Kinds of broken result files: download errors and contents. */
const SPOILED = {
  'a file that cannot be read': { failure: 'protocol', results: undefined },
  'a file without rows': { failure: undefined, results: () => [] },
  'a file whose every row is malformed': {
    failure: undefined,
    results: (rows: readonly object[]) => rows.map(() => ({ malformed: 'the reference is empty' })),
  },
} as const;

/** Returns a service whose result files are broken while `isBroken` returns true. */
function spoiling(
  how: keyof typeof SPOILED,
  isBroken: () => boolean,
): NonNullable<WorldSettings['service']> {
  const { failure, results } = SPOILED[how];
  return {
    review: (): ReviewPlan => (results !== undefined && isBroken() ? { results } : {}),
    fault: (operation) =>
      operation === 'results' && failure !== undefined && isBroken()
        ? { failure, afterRows: 0 }
        : undefined,
  };
}

const isPaused = (logger: RecordingLogger) =>
  logger.lines.some(({ message }) => message.includes('keep failing'));
const errors = (world: World) => world.decisions().filter(({ status }) => status === 'error');

/** Waits until each record has its decision, and asserts that none has status ERROR. */
async function untilDecided(world: World): Promise<void> {
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(errors(world), []);
}

for (const how of Object.keys(SPOILED) as (keyof typeof SPOILED)[]) {
  for (const maxRows of [1, 5, 40]) {
    test(`${how}, batches of ${maxRows}: the type pauses, no record fails, and all records are decided once the service recovers`, async () => {
      let broken = true;
      const world = new World({
        partitions: 1,
        options: {
          batch: { maxRows, maxAgeMs: 1_000 },
          review: { attempts: 3 },
          downloadRetries: 1,
        },
        service: spoiling(how, () => broken),
      });
      const { logger } = world.start();
      for (let n = 0; n < 40; n++) world.event(0);
      await world.clock.advance(MINUTE);
      assert.deepEqual(world.decisions(), []);
      assert.ok(
        logger.lines.some(
          ({ level, message }) => level === 'error' && message.includes('keep failing'),
        ),
      );
      const submitted = world.service.batches.size;
      await world.clock.advance(MINUTE / 2);
      assert.ok(world.service.batches.size - submitted <= 4, 'a probe per pause of ten seconds');
      assert.deepEqual(world.decisions(), []);
      broken = false;
      await untilDecided(world);
    });
  }
}

for (const [what, others] of [
  ['without the others', undefined],
  ['with the others malformed', { malformed: 'the reference is empty' }],
] as const) {
  test(`files with one row of forty, ${what}: the type pauses, no record fails, and all records are decided once the service recovers`, async () => {
    let broken = true;
    const world = new World({
      partitions: 1,
      options: {
        batch: { maxRows: 40, maxAgeMs: 1_000 },
        review: { attempts: 3 },
        downloadRetries: 0,
      },
      service: {
        review: () => ({
          results: ([first = assert.fail(), ...rest]): ResultLine[] =>
            broken
              ? [first, ...(others === undefined ? [] : rest.map(() => others))]
              : [first, ...rest],
        }),
      },
    });
    const { logger } = world.start();
    for (let n = 0; n < 400; n++) world.event(0);
    await world.clock.advance(MINUTE);
    assert.deepEqual(errors(world), []);
    assert.ok(isPaused(logger));
    broken = false;
    await untilDecided(world);
  });
}

test('files with at most ten rows: batches are halved until all rows are returned, and no record fails', async () => {
  const world = new World({
    partitions: 1,
    options: {
      batch: { maxRows: 40, maxAgeMs: 1_000 },
      review: { attempts: 2 },
      downloadRetries: 0,
    },
    service: { review: () => ({ results: (rows) => rows.slice(0, 10) }) },
  });
  world.start();
  for (let n = 0; n < 400; n++) world.event(0);
  await world.untilSettled(60 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(errors(world), []);
});

for (const maxRows of [1, 40]) {
  test(`a storage that rejects every upload as too large, batches of ${maxRows}: the type pauses before a record fails`, async () => {
    let broken = true;
    const world = new World({
      partitions: 1,
      options: { batch: { maxRows, maxAgeMs: 1_000 }, maxRetryBatches: 8 },
      service: {
        fault: (operation) =>
          operation === 'upload' && broken ? { failure: 'too_large' } : undefined,
      },
    });
    const { logger } = world.start();
    for (let n = 0; n < 80; n++) world.event(0);
    await world.clock.advance(9_000);
    assert.deepEqual(world.decisions(), []);
    assert.ok(isPaused(logger));
    broken = false;
    await untilDecided(world);
  });
}

test('a storage that accepts five rows at a time pauses no type, because batches are halved to its limit', async () => {
  const sizes = new Map<string, number>();
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 40, maxAgeMs: 1_000 } },
    service: {
      fault: (operation, id) =>
        operation === 'upload' && (sizes.get(id ?? '') ?? 0) > 5
          ? { failure: 'too_large' }
          : undefined,
    },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        upload: (job, body, signal) => {
          sizes.set(job.remoteId, body.rows);
          return ports.kind.upload(job, body, signal);
        },
      }),
    }),
  });
  const { logger } = world.start();
  for (let n = 0; n < 200; n++) world.event(0);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([errors(world), isPaused(logger)], [[], false]);
});

test('the only record of a type does not fail before it was a probe', async () => {
  let broken = true;
  const world = new World({
    partitions: 1,
    options: { review: { attempts: 1 }, downloadRetries: 0 },
    service: spoiling('a file without rows', () => broken),
  });
  world.start();
  world.event(0);
  await world.clock.advance(8_000);
  assert.deepEqual([world.service.batches.size, world.decisions()], [1, []]);
  broken = false;
  await world.untilSettled(MINUTE);
  assert.deepEqual(errors(world), []);
});

test('the only record of a type fails after a pause if its results are unusable', async () => {
  const world = new World({
    partitions: 1,
    options: { review: { attempts: 2 }, downloadRetries: 0 },
    service: spoiling('a file whose every row is malformed', () => true),
  });
  world.start();
  world.event(0);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    errors(world).map(({ error }) => error),
    [
      {
        code: 'rows_malformed',
        message: 'the results had only malformed rows for this item: the reference is empty',
      },
    ],
  );
});

test('a malformed row that hides the rows after it does not make their records fail', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 20, maxAgeMs: 10_000 }, downloadRetries: 0 },
    service: {
      review: () => ({
        results: (rows) => {
          const at = rows.findIndex(({ offset }) => offset === 3);
          return at < 0
            ? rows
            : [...rows.slice(0, at), { malformed: 'the row has 1 cells, but the header has 6' }];
        },
      }),
    },
  });
  world.start();
  for (let n = 0; n < 20; n++) world.event(0);
  await world.untilSettled(30 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    errors(world).map(({ offset, error }) => [offset, error?.code]),
    [[3, 'rows_malformed']],
  );
  const { metrics } = world.instances[0] ?? assert.fail();
  const reason = 'results_unreadable';
  assert.ok(
    (metrics.counter('jobs_failed_total', { reason }) ?? 0) > 0,
    'rows were missing as well',
  );
});

test('a batch that settles half of its records ends the series of failures of its type', async () => {
  const world = new World({
    partitions: 1,
    options: {
      batch: { maxRows: 4, maxAgeMs: 1_000 },
      review: { attempts: 3 },
      downloadRetries: 0,
    },
    // The first row of each file is missing, so batches of one record settle nothing.
    service: { review: () => ({ results: (rows) => rows.slice(1) }) },
  });
  const { logger } = world.start();
  for (let n = 0; n < 40; n++) {
    for (let row = 0; row < 4; row++) world.event(0);
    await world.clock.advance(2_000);
  }
  const warned = logger.lines.filter(({ message }) => message.includes('keep failing'));
  assert.equal(warned.length, 0);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

test('a failed batch is logged once, with the first reason and the number of malformed rows', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 4, maxAgeMs: 1_000 }, downloadRetries: 3 },
    service: {
      review: ({ id }) =>
        id === 'batch-1'
          ? {
              results: (rows) => [rows[0] ?? assert.fail(), { malformed: 'x' }, { malformed: 'y' }],
            }
          : {},
      fault: (operation, id) =>
        operation === 'results' && id === 'batch-2'
          ? { failure: 'protocol', afterRows: 0 }
          : undefined,
    },
  });
  const { logger } = world.start();
  for (let n = 0; n < 4; n++) world.event(0);
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  const warnings = (batch: string) =>
    logger.lines
      .filter(({ level, fields }) => level === 'warn' && fields.batch === batch)
      .map(({ message, fields }) => [message, fields.malformed, fields.reason ?? fields.error]);
  assert.deepEqual(warnings('batch-1'), [['batch failed', 2, 'x']]);
  assert.deepEqual(warnings('batch-2'), [
    ['could not read the result file; downloading it again', undefined, 'scripted protocol'],
    ['batch failed', undefined, 'scripted protocol'],
  ]);
});
