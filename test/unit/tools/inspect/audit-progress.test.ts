/** Audits that continue where the previous one ended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuditProgress, auditFrom } from '../../../../src/tools/inspect/audit.ts';
import { inspectionOf } from '../../../support/engine/inspection.ts';
import { World } from '../../../support/engine/world.ts';

const pass = (world: World, progress?: AuditProgress) =>
  world.through(auditFrom(inspectionOf(world), {}, progress));

type Pass = Awaited<ReturnType<typeof pass>>;
const outcome = ({ report: { verdict, totals } }: Pass) => [verdict, totals.records, totals.double];
const rangeOf = ({ report: { partitions } }: Pass) => [partitions[0]?.from, partitions[0]?.to];

/** Writes all decisions a second time. */
function repeatTerminals(world: World): void {
  const { cluster } = world.kafka;
  for (const record of [...cluster.committedRecords('decisions')])
    cluster.produce('decisions', record.partition, [record]);
}

test('an audit starts at the first record in flight of the previous one, and without one reads no output again', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 2 } },
    service: { review: ({ id }) => ({ afterMs: id === 'batch-2' ? 100_000 : 1_000 }) },
  });
  world.start();
  for (let n = 0; n < 6; n++) world.event(0);
  await world.clock.advance(30_000);
  const first = await pass(world);
  assert.deepEqual(outcome(first), ['balanced', 6, 0]);
  assert.equal(first.report.totals.live, 2);
  const second = await pass(world, first.progress);
  assert.deepEqual(
    [rangeOf(second), outcome(second)],
    [
      [2, 6],
      ['balanced', 4, 0],
    ],
  );
  await world.untilSettled(200_000);
  const third = await pass(world, second.progress);
  assert.deepEqual([rangeOf(third), third.report.totals.decided], [[2, 6], 4]);
  const idle = await pass(world, third.progress);
  assert.deepEqual([rangeOf(idle), idle.report.outputOffsets], [[6, 6], 0]);
});

test('a second terminal record of an audited record counts as double once, even without new records', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 3 } } });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  const first = await pass(world);
  assert.deepEqual(outcome(first), ['balanced', 3, 0]);
  repeatTerminals(world);
  const second = await pass(world, first.progress);
  assert.deepEqual(outcome(second), ['double', 0, 3]);
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  assert.deepEqual(outcome(await pass(world, second.progress)), ['balanced', 3, 0]);
});
