/** Audits that continue where the last one ended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuditProgress, auditFrom } from '../../../../src/tools/inspect/audit/audit.ts';
import { Findings } from '../../../../src/tools/inspect/audit/findings.ts';
import { inspectionOf, rewriteReads } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';

const pass = (world: World, progress?: AuditProgress) =>
  world.through(auditFrom(inspectionOf(world), { partitions: [] }, progress));

type Pass = Awaited<ReturnType<typeof pass>>;
const outcome = ({ report: { verdict, totals }, late }: Pass) => [verdict, totals.records, late];
const rangeOf = ({ report: { partitions } }: Pass) => [partitions[0]?.from, partitions[0]?.to];

/** Writes the terminal records of the log once more. */
function repeatTerminals(world: World): void {
  const { cluster } = world.kafka;
  for (const record of [...cluster.committedRecords('decisions')])
    cluster.produce('decisions', record.partition, [record]);
}

test('an audit begins at the first record that the last one found in flight, and reads no output twice when none is', async () => {
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

test('a second terminal record of a proven record is late, once, even if no record came since', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 3 } } });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  const first = await pass(world);
  assert.deepEqual(outcome(first), ['balanced', 3, 0]);
  repeatTerminals(world);
  const second = await pass(world, first.progress);
  assert.deepEqual(outcome(second), ['balanced', 0, 3]);
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  assert.deepEqual(outcome(await pass(world, second.progress)), ['balanced', 3, 0]);
});

test('a topic that was created again is audited from its beginning', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 3 } } });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  const { progress } = await pass(world);
  const ahead = { ...progress, sources: new Map([[0, { first: 0, next: 1_000 }]]) };
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  const again = await pass(world, ahead);
  assert.deepEqual(
    [rangeOf(again), outcome(again)],
    [
      [0, 6],
      ['balanced', 6, 0],
    ],
  );
  assert.deepEqual(again.progress.sources.get(0), { first: 0, next: 6 });
});

test('a record with three terminal records is double twice in each pass', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 3 } } });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  const { cluster } = world.kafka;
  const [record] = cluster.committedRecords('decisions');
  assert.ok(record !== undefined);
  cluster.produce('decisions', record.partition, [record, record]);
  const findings = new Findings();
  const first = await pass(world);
  assert.equal(findings.add(first).double, 2);
  assert.equal(findings.add(await pass(world, first.progress)).double, 2);
});

test('records without proof, terminal records without a source record and audited records are counted once over all passes', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 3 } } });
  world.start();
  const { cluster } = world.kafka;
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  // Offset 0 is gone from the source, the decision on offset 1 from the output, and both are compacted.
  const through = (progress?: AuditProgress) => {
    const inspection = inspectionOf(world);
    const describe = inspection.admin.describeTopic.bind(inspection.admin);
    inspection.admin.describeTopic = async (topic) => {
      const found = await describe(topic);
      return found && { ...found, settings: new Map([['cleanup.policy', 'compact']]) };
    };
    rewriteReads(inspection, (topic, all) =>
      all.filter(
        ({ offset }) =>
          offset !== (topic === TOPICS.source ? 0 : topic === 'decisions' ? lost : -1),
      ),
    );
    return world.through(auditFrom(inspection, { partitions: [] }, progress));
  };
  const lost = cluster.committedRecords('decisions')[1]?.offset;
  const findings = new Findings();
  const counts = { records: 2, missing: 0, double: 0, unknown: 1, withoutSource: 1 };
  const first = await through();
  assert.deepEqual(findings.add(first), counts);
  const second = await through(first.progress);
  assert.deepEqual(findings.add(second), counts);
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  assert.deepEqual(findings.add(await through(second.progress)), { ...counts, records: 5 });
});
