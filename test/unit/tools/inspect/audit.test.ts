/**
 * Counts of the audit after resets, late starts, skips and expired outputs, with the engine in memory.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditReport, AuditRequest } from '../../../../src/tools/inspect/audit.ts';
import { audit } from '../../../../src/tools/inspect/audit.ts';
import type { InspectError, Inspection } from '../../../../src/tools/inspect/context.ts';
import type { Explanation } from '../../../../src/tools/inspect/explain.ts';
import {
  explain,
  type InspectionSettings,
  inspectionOf,
  rewriteReads,
} from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';

const auditOf = (
  world: World,
  request: AuditRequest = {},
  settings: InspectionSettings = {},
): Promise<AuditReport> => world.through(audit(inspectionOf(world, settings), request));

const stateOf = async (
  world: World,
  offset: number,
  settings: InspectionSettings = {},
): Promise<Explanation['state']> => {
  const explained = await explain(world, inspectionOf(world, settings), { partition: 0, offset });
  return explained.state;
};

/** Returns the columns that are not 0. */
function columns({ totals }: AuditReport): Record<string, number> {
  return Object.fromEntries(Object.entries(totals).filter(([, count]) => count > 0));
}

/** Resets offsets as Kafka's tool does: requires an empty group and writes no metadata. */
async function resetGroup(world: World, offset: number): Promise<void> {
  for (const instance of world.instances) await world.through(instance.stop());
  world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, 0, offset);
  world.start();
}

/** Gives all topics this cleanup.policy. */
function altered(inspection: Inspection, policy: string): Inspection {
  const describe = inspection.admin.describeTopic.bind(inspection.admin);
  inspection.admin.describeTopic = async (topic) => {
    const found = await describe(topic);
    return found && { ...found, settings: new Map([['cleanup.policy', policy]]) };
  };
  return inspection;
}

const isInspectError = (failure: string, message: RegExp) => (error: InspectError) =>
  error.name === 'InspectError' && error.failure === failure && message.test(error.message);

test('records without a terminal record are unknown after a reset of their partition', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 2, maxAgeMs: 600_000 } } });
  world.start();
  // Records 0 and 3 are buffered, 1 and 2 are decided.
  for (const type of ['a', 'b', 'b', 'c']) world.event(0, type);
  await world.clock.advance(5_000);
  for (let n = 0; n < 4; n++) world.event(0, 'd');
  await resetGroup(world, 6);
  await world.clock.advance(10_000);
  const report = await auditOf(world);
  assert.deepEqual(
    [report.verdict, columns(report)],
    ['unknown', { records: 8, decided: 4, unknown: 4, replayed: 2 }],
  );
  assert.match(report.notes.join(), /the group was reset/);
  assert.equal(await stateOf(world, 3), 'unknown');
});

test('records older than the start of the pipeline are counted separately', async () => {
  const world = new World({ partitions: 1, options: { source: { startFrom: 'latest' } } });
  for (let n = 0; n < 5; n++) world.event(0);
  world.start();
  await world.clock.advance(5_000);
  for (let n = 0; n < 3; n++) world.event(0);
  await world.clock.advance(20_000);
  const report = await auditOf(world);
  assert.deepEqual(
    [report.verdict, columns(report)],
    ['balanced', { records: 8, decided: 3, beforeStart: 5 }],
  );
  assert.equal(await stateOf(world, 2), 'beforeStart');
  world.kafka.cluster.log(TOPICS.journal, 0).compact();
  const later = await auditOf(world);
  assert.deepEqual(
    [later.verdict, columns(later)],
    ['balanced', { records: 8, decided: 3, beforeStart: 5 }],
  );
  assert.equal(await stateOf(world, 2), 'beforeStart');
});

test('records under review in a lost journal are unknown, before and after the pipeline continues without the journal', async () => {
  const world = new World({
    partitions: 1,
    service: {
      review: ({ rows }) => (rows?.some(({ offset }) => offset === 2) ? { afterMs: 'never' } : {}),
    },
  });
  const instance = world.start();
  for (let n = 0; n < 2; n++) world.event(0);
  await world.untilSettled(60_000);
  world.event(0);
  await world.clock.advance(20_000);
  assert.equal(await stateOf(world, 2), 'live');
  await world.through(instance.stop());
  world.kafka.cluster.deleteTopic(TOPICS.journal);
  world.kafka.cluster.createTopic(TOPICS.journal, 1);
  const lost = ['unknown', { records: 3, decided: 2, unknown: 1 }];
  const before = await auditOf(world);
  assert.deepEqual([before.verdict, columns(before)], lost);
  assert.equal(await stateOf(world, 2), 'unknown');
  assert.equal(await stateOf(world, 1), 'decided');

  world.kafka.cluster.deleteTopic(TOPICS.journal);
  await resetGroup(world, 3);
  await world.clock.advance(10_000);
  const after = await auditOf(world);
  assert.deepEqual([after.verdict, columns(after)], lost);
  assert.match(after.notes.join(), /under review in an earlier journal/);
  assert.equal(await stateOf(world, 2), 'unknown');
});

test('a timestamp in the future does not hide a terminal record, because outputs are read completely', async () => {
  const world = new World({ partitions: 1 });
  world.start();
  world.event(0, 'a', world.clock.now() + 7 * 24 * 3_600_000);
  await world.untilSettled(60_000);
  const report = await auditOf(world);
  assert.deepEqual([report.verdict, columns(report)], ['balanced', { records: 1, decided: 1 }]);
  assert.equal(await stateOf(world, 0), 'decided');
});

test('an output truncated by retention can prove only newer records missing', async () => {
  const world = new World({ partitions: 1 });
  world.kafka.cluster.deleteTopic('decisions');
  world.kafka.cluster.createTopic('decisions', 1);
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  // Waits for longer than the allowed difference of clocks.
  await world.clock.advance(600_000);
  const sinceMs = world.clock.now();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  const log = world.kafka.cluster.log('decisions', 0);
  log.deleteBefore((log.committed()[2] as { offset: number }).offset);
  const report = await auditOf(world);
  assert.deepEqual(
    [report.verdict, columns(report)],
    ['unknown', { records: 6, decided: 4, unknown: 2 }],
  );
  assert.equal(await stateOf(world, 0), 'unknown');
  // Drops the last two decisions. The remaining decisions are older than their records.
  const inspection = inspectionOf(world);
  rewriteReads(inspection, (topic, all) => (topic === 'decisions' ? all.slice(0, 2) : all));
  const broken = await world.through(audit(inspection, { sinceMs }));
  assert.equal(broken.verdict, 'missing');
  assert.deepEqual(broken.partitions[0]?.missingOffsets, [[4, 5]]);
});

test('a compacted output cannot prove that a record is missing', async () => {
  const world = new World({ partitions: 1 });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.untilSettled(60_000);
  const inspection = altered(inspectionOf(world), 'compact,delete');
  rewriteReads(inspection, (topic, all) =>
    topic === 'decisions' ? all.filter(({ value }) => JSON.parse(String(value)).offset !== 0) : all,
  );
  const report = await world.through(audit(inspection));
  assert.deepEqual(
    [report.verdict, columns(report)],
    ['unknown', { records: 3, decided: 2, unknown: 1 }],
  );
});

test('a terminal record for an offset without a record counts as double, unless the source is compacted', async () => {
  const world = new World({ partitions: 1 });
  world.start();
  for (let n = 0; n < 3; n++)
    world.put(0, JSON.stringify({ type: 'a', content: 'x' }), { key: `k${n % 2}` });
  await world.untilSettled(60_000);
  world.kafka.cluster.log(TOPICS.source, 0).compact();
  const report = await auditOf(world);
  assert.deepEqual(
    [report.verdict, columns(report)],
    ['double', { records: 2, decided: 2, withoutSource: 1 }],
  );
  assert.deepEqual(report.partitions[0]?.withoutSourceOffsets, [[0, 0]]);
  const inspection = altered(inspectionOf(world), 'compact');
  assert.equal((await world.through(audit(inspection))).verdict, 'balanced');
});

test('a range without records is balanced, and no output is read for it', async () => {
  const world = new World({ partitions: 2 });
  world.start();
  world.produce(20);
  await world.untilSettled(60_000);
  world.kafka.cluster.log(TOPICS.source, 0).deleteBefore(4);
  const report = await auditOf(world);
  assert.deepEqual(
    report.partitions.map(({ partition, from, to }) => [partition, from, to]),
    [
      [0, 4, 10],
      [1, 0, 10],
    ],
  );
  const since = await auditOf(world, { sinceMs: world.clock.now() + 1_000 });
  assert.deepEqual([since.verdict, columns(since), since.outputOffsets], ['balanced', {}, 0]);
});

test('a journal of another pipeline and an unreadable journal are refused', async () => {
  const world = new World({ partitions: 1 });
  world.start();
  world.produce(2);
  await world.untilSettled(60_000);
  await assert.rejects(
    auditOf(world, {}, { pipeline: { group: 'others' } }),
    isInspectError('refused', /belongs to group reviewers/),
  );
  await assert.rejects(
    auditOf(world, {}, { pipeline: { kind: 'imports' } }),
    isInspectError('refused', /belongs to .*\(scripted\), not to .*\(imports\)/),
  );
  const more = inspectionOf(world);
  const bounds = more.scan.bounds.bind(more.scan);
  more.scan.bounds = async (topic) => {
    const all = new Map(await bounds(topic));
    if (topic === TOPICS.journal) all.set(all.size, { start: 0, stable: 0, end: 0 });
    return all;
  };
  await assert.rejects(
    world.through(audit(more)),
    isInspectError('refused', /was created with 1 partitions and now has 2/),
  );
  world.kafka.cluster.produce(TOPICS.journal, 0, [{ key: 'surprise', value: '{}' }]);
  await assert.rejects(auditOf(world), isInspectError('refused', /unknown key "surprise"/));
});

test('an open transaction on an output is reported, and fails the audit after the maximum transaction time', async () => {
  const world = new World({
    partitions: 1,
    kafka: { transactions: { timeoutMs: 3_600_000, maxMessageBytes: 1_000_000 } },
  });
  world.start();
  world.produce(2);
  await world.untilSettled(60_000);
  world.kafka.cluster
    .log('decisions', 0)
    .append([{ key: 'k', value: 'v' }], world.clock.now(), 999_999);
  const notices: string[] = [];
  const inspection = { ...inspectionOf(world), notice: (text: string) => notices.push(text) };
  await assert.rejects(
    world.through(audit(inspection), 200_000),
    isInspectError('unreachable', /no progress on decisions-0 for 90 s/),
  );
  assert.match(notices.join(), /waiting for an open transaction on decisions-0/);
});

test('a record that the configuration skips is not missing, and unknown if a filter cannot be evaluated', async () => {
  const world = new World({
    partitions: 1,
    wrap: (ports) => {
      const decode = ports.kind.decode.bind(ports.kind);
      ports.kind.decode = (record, ...more) =>
        record.offset === 1 ? { skip: 'filter' } : decode(record, ...more);
      return ports;
    },
  });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.clock.advance(30_000);
  const filtered = {
    pipeline: { isSkipped: ({ offset }: { readonly offset: number }) => offset === 1 },
  };
  assert.deepEqual(columns(await auditOf(world, {}, filtered)), {
    records: 3,
    decided: 2,
    skipped: 1,
  });
  assert.equal(await stateOf(world, 1, filtered), 'skipped');
  const untold = { pipeline: { isSkipped: () => undefined } };
  assert.deepEqual(columns(await auditOf(world, {}, untold)), {
    records: 3,
    decided: 2,
    unknown: 1,
  });
  assert.deepEqual(columns(await auditOf(world)), { records: 3, decided: 2, missing: 1 });
});
