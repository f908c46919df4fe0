/** Audits that continue where the last audit ended. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { CommandFailed } from '../../../../packages/client/src/cli/exit-codes.ts';
import { positionFile } from '../../../../src/cli/audit-position.ts';
import { type AuditReport, audit } from '../../../../src/tools/inspect/audit.ts';
import { inspectionOf, memoryPosition, rewriteReads } from '../../../support/engine/inspection.ts';
import { World } from '../../../support/engine/world.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Returns a function that audits from the position of its last call. */
function incremental(world: World) {
  const position = memoryPosition();
  return (sinceMs?: number) =>
    world.through(audit(inspectionOf(world), { sinceMs, position }), 600_000);
}

const outcome = ({ verdict, totals }: AuditReport) => [verdict, totals.records, totals.double];
const rangeOf = ({ partitions }: AuditReport) => [partitions[0]?.from, partitions[0]?.to];

/** Publishes all decisions a second time. */
function repeatDecisions(world: World): void {
  const { cluster } = world.kafka;
  for (const record of [...cluster.committedRecords('decisions')])
    cluster.produce('decisions', record.partition, [record]);
}

test('an audit starts at the first record that the last audit found in flight, and reads no output again if there was none', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 2 } },
    service: { review: ({ id }) => ({ afterMs: id === 'batch-2' ? 100_000 : 1_000 }) },
  });
  world.start();
  for (let n = 0; n < 6; n++) world.event(0);
  await world.clock.advance(30_000);
  const next = incremental(world);
  const first = await next();
  assert.deepEqual(
    [outcome(first), first.totals.live, first.partitions[0]?.settledTo],
    [['balanced', 6, 0], 2, 2],
  );
  // Passes a time without effect, because --since applies only to the first audit.
  const second = await next(world.clock.now());
  assert.deepEqual(
    [rangeOf(second), outcome(second)],
    [
      [2, 6],
      ['balanced', 4, 0],
    ],
  );
  await world.untilSettled(200_000);
  const third = await next();
  assert.deepEqual([rangeOf(third), third.totals.decided], [[2, 6], 4]);
  const idle = await next();
  assert.deepEqual([rangeOf(idle), idle.outputOffsets], [[6, 6], 0]);
});

test('a second terminal record of an audited record is double, in every audit until the position is removed', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 3 } } });
  world.start();
  const settleThree = async () => {
    for (let n = 0; n < 3; n++) world.event(0);
    await world.untilSettled(60_000);
  };
  await settleThree();
  const next = incremental(world);
  assert.deepEqual(outcome(await next()), ['balanced', 3, 0]);
  await settleThree();
  assert.deepEqual(outcome(await next()), ['balanced', 3, 0]);
  repeatDecisions(world);
  const found = await next();
  assert.deepEqual(outcome(found), ['double', 0, 6]);
  assert.match(
    String(found.notes),
    /^records of an earlier audit have 6 further terminal records: (0:[0-5](, |$)){6}$/,
  );
  await settleThree();
  assert.deepEqual(outcome(await next()), ['double', 3, 6]);
});

test('an audit with a missing record does not change the position', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 3 } } });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  const inspection = inspectionOf(world);
  rewriteReads(inspection, (topic, records) => (topic === 'decisions' ? [] : records));
  const position = memoryPosition();
  const report = await world.through(audit(inspection, { position }), 600_000);
  assert.deepEqual([report.verdict, await position.read()], ['missing', undefined]);
});

test('the position of a topic that was created again is ignored', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 3 } } });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  const position = memoryPosition({ sources: new Map([[0, { first: 0, next: 9 }]]) });
  const report = await world.through(audit(inspectionOf(world), { position }));
  assert.deepEqual(
    [rangeOf(report), outcome(report)],
    [
      [0, 3],
      ['balanced', 3, 0],
    ],
  );
});

test('a position is kept in a file, which cannot be used for other pipelines and topics', async () => {
  const file = path.join(temporaryDirectory(), 'position');
  const store = positionFile(file, 'posts', 'content');
  assert.equal(await store.read(), undefined);
  const position = {
    sources: new Map([[1, { first: 2, next: 3 }]]),
    outputs: new Map([['decisions-0', 4]]),
  };
  await store.write(position);
  assert.deepEqual(await store.read(), position);
  const refused = (found: Promise<unknown>, reason: RegExp) =>
    assert.rejects(
      found,
      (error) => error instanceof CommandFailed && reason.test(error.message),
      String(reason),
    );
  const other =
    /position is not the position of an audit of pipeline (other|posts) and topic \w+: use/;
  await refused(positionFile(file, 'other', 'content').read(), other);
  await refused(positionFile(file, 'posts', 'other').read(), other);
  const text = readFileSync(file, 'utf8');
  for (const [content, reason] of [
    ['', other],
    ['{}', other],
    [text.replace('"next":3', '"next":-1'), other],
    [' '.repeat(2 ** 24 + 1), /is not a file of at most 16777216 bytes/],
  ] as const) {
    writeFileSync(file, content);
    await refused(store.read(), reason);
  }
  const nowhere = positionFile(path.join(file, 'below'), 'posts', 'content');
  await refused(nowhere.write(position), /--position: ENOTDIR/);
});
