/** A service whose result files settle nothing pauses its types; a row that breaks a file stands alone in the end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World, type WorldSettings } from '../../../support/engine/world.ts';
import type { ReviewPlan } from '../../../support/memory/service/review-service.ts';
import type { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';

const MINUTE = 60_000;

/** Broken result files of the service: download errors and contents. */
const SPOILED = {
  'a file that cannot be read': { failure: 'protocol', results: undefined },
  'a file without rows': { failure: undefined, results: () => [] },
  'a file whose every row is malformed': {
    failure: undefined,
    results: (rows: readonly object[]) => rows.map(() => ({ malformed: 'the reference is empty' })),
  },
} as const;

/** A service that spoils every file while `broken`. */
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

/** Until each record has its decision, and none with status ERROR. */
async function untilDecided(world: World): Promise<void> {
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(errors(world), []);
}

for (const how of Object.keys(SPOILED) as (keyof typeof SPOILED)[]) {
  for (const maxRows of [1, 5, 40]) {
    test(`${how}, batches of ${maxRows}: the type pauses, nothing is given up, and all is decided once the service is well`, async () => {
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

test('files that hold ten rows at most: batches are halved until all of their rows come back, and none is given up', async () => {
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
  test(`a storage that finds every upload too large, batches of ${maxRows}: the type pauses before a record is given up`, async () => {
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

test('a single record of its type whose results never come ends all the same, after a pause', async () => {
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

test('a malformed row that swallows others takes none of them with it', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 20, maxAgeMs: 10_000 }, downloadRetries: 0 },
    service: {
      review: () => ({
        results: (rows) => {
          const at = rows.findIndex(({ offset }) => offset === 3);
          return at < 0
            ? rows
            : [...rows.slice(0, at), { malformed: 'the row has 1 cells, the header 6' }];
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
    'while rows were missing too',
  );
});

test('a batch is warned of once, however often its file is downloaded, with the first reason and the number of its malformed rows', async () => {
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
