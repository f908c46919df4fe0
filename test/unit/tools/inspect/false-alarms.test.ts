/** Situations that look like missing records, but are not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditReport } from '../../../../src/tools/inspect/audit.ts';
import { audit } from '../../../../src/tools/inspect/audit.ts';
import type { Inspection } from '../../../../src/tools/inspect/context.ts';
import type { Explanation } from '../../../../src/tools/inspect/explain.ts';
import { explain, inspectionOf } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';

const MINUTE_MS = 60_000;

const auditOf = (world: World, inspection = inspectionOf(world)): Promise<AuditReport> =>
  world.through(audit(inspection));

async function stateOf(
  world: World,
  offset: number,
  inspection = inspectionOf(world),
): Promise<Explanation['state']> {
  return (await explain(world, inspection, { partition: 0, offset })).state;
}

/** Returns the verdict and the columns that are not 0. */
function told({ verdict, totals }: AuditReport): [string, Record<string, number>] {
  return [verdict, Object.fromEntries(Object.entries(totals).filter(([, count]) => count > 0))];
}

const journalOf = (world: World) => world.kafka.cluster.log(TOPICS.journal, 0);

/** Returns tools that call `act` between the request for a topic's bounds and its first read. */
function beforeRead(world: World, wanted: string, act: () => void): Inspection {
  const inspection = inspectionOf(world);
  const read = inspection.scan.read.bind(inspection.scan);
  let acted = false;
  inspection.scan.read = (topic, ...rest) => {
    if (topic === wanted && !acted) {
      acted = true;
      act();
    }
    return read(topic, ...rest);
  };
  return inspection;
}

/** Recreates the output topic with one partition, so that retention removes records in order. */
function oneDecisionsPartition(world: World): void {
  world.kafka.cluster.deleteTopic('decisions');
  world.kafka.cluster.createTopic('decisions', 1);
}

async function settleThree(world: World, aheadMs = 0): Promise<void> {
  for (let n = 0; n < 3; n++) world.event(0, 'a', world.clock.now() + aheadMs);
  await world.untilSettled(MINUTE_MS);
}

test('records before an offset that was committed before the first start are unknown, even after compaction', async () => {
  const world = new World({ partitions: 1 });
  for (let n = 0; n < 5; n++) world.event(0);
  world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, 0, 3);
  world.start();
  await world.clock.advance(20_000);
  const unknown = ['unknown', { records: 5, decided: 2, unknown: 3 }];
  for (const when of ['as written', 'compacted']) {
    const report = await auditOf(world);
    assert.deepEqual(told(report), unknown, when);
    assert.match(
      report.notes.join(),
      /earlier records may have been under review in an earlier journal/,
    );
    assert.equal(await stateOf(world, 1), 'unknown');
    assert.equal(await stateOf(world, 3), 'decided');
    journalOf(world).compact();
  }
});

test('a first claim between reading the journal and the committed offsets does not look like a lost journal', async () => {
  const world = new World({ partitions: 1, options: { source: { startFrom: 'latest' } } });
  world.kafka.cluster.createTopic(TOPICS.journal, 1, {
    settings: [
      ['cleanup.policy', 'compact'],
      ['delete.retention.ms', '86400000'],
    ],
  });
  world.produce(3);
  const inspection = inspectionOf(world);
  const committed = inspection.admin.committed.bind(inspection.admin);
  const instance = () => world.instances[0] ?? world.start();
  inspection.admin.committed = async (...about) => {
    while (instance().gauge('shards_owned') !== 1) await world.clock.sleep(100);
    return committed(...about);
  };
  const report = await auditOf(world, inspection);
  assert.equal(instance().gauge('shards_owned'), 1);
  assert.deepEqual(told(report), ['balanced', { records: 3, waiting: 3 }]);
});

test('a job that moves to its next attempt while the journal is read and compacted is still found', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 3, maxAgeMs: 600_000 } },
    service: { review: () => ({ afterMs: 'never' }) },
  });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.clock.advance(20_000);
  let attempt = 1;
  const move = () => {
    attempt++;
    const live = journalOf(world).committed();
    const job = live.findLast(
      ({ key, value }) => /^job\/[^/]+$/.test(String(key)) && value !== null,
    );
    const left = live.findLast(
      ({ key, value }) => /^job\/[^/]+\/left$/.test(String(key)) && value !== null,
    );
    const next = {
      ...JSON.parse(String(job?.value)),
      id: `next-${attempt}`,
      remoteId: `remote-${attempt}`,
      attempt,
    };
    world.kafka.cluster.produce(TOPICS.journal, 0, [
      { key: `job/next-${attempt}`, value: JSON.stringify(next) },
      { key: `job/next-${attempt}/left`, value: String(left?.value) },
      { key: String(job?.key), value: null },
      { key: String(left?.key), value: null },
    ]);
    journalOf(world).compact();
  };
  assert.deepEqual(told(await auditOf(world, beforeRead(world, TOPICS.journal, move))), [
    'balanced',
    { records: 3, live: 3 },
  ]);
  assert.equal(await stateOf(world, 1, beforeRead(world, TOPICS.journal, move)), 'live');
  assert.equal(attempt, 3);
});

test('records that retention removes from an output during the audit do not count as missing', async () => {
  const world = new World({ partitions: 1 });
  oneDecisionsPartition(world);
  world.start();
  await settleThree(world);
  await world.clock.advance(10 * MINUTE_MS);
  await settleThree(world);
  const log = world.kafka.cluster.log('decisions', 0);
  const [, , third] = log.committed();
  const cut = () => log.deleteBefore(third?.offset ?? Number.NaN);
  const report = await auditOf(world, beforeRead(world, 'decisions', cut));
  assert.deepEqual(told(report), ['unknown', { records: 6, decided: 4, unknown: 2 }]);
  assert.match(report.notes.join(), /retention has removed the beginning/);
});

test('a producer with a fast clock does not make its records look newer than the removed part of an output', async () => {
  const world = new World({ partitions: 1 });
  oneDecisionsPartition(world);
  world.start();
  await settleThree(world, 2 * MINUTE_MS);
  await world.clock.advance(MINUTE_MS);
  await settleThree(world, 2 * MINUTE_MS);
  const log = world.kafka.cluster.log('decisions', 0);
  log.deleteBefore(log.committed()[2]?.offset ?? Number.NaN);
  assert.deepEqual(told(await auditOf(world)), ['unknown', { records: 6, decided: 4, unknown: 2 }]);
  assert.equal(await stateOf(world, 0), 'unknown');
});

test('a terminal record before the timestamps of the range is found', async () => {
  const world = new World({ partitions: 1 });
  const aheadMs = 60 * MINUTE_MS;
  world.start();
  await settleThree(world, aheadMs);
  for (const instance of world.instances) await world.through(instance.stop());
  world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, 0, 3);
  world.start();
  await world.clock.advance(20_000);
  await settleThree(world, aheadMs);
  journalOf(world).compact();
  assert.deepEqual(told(await auditOf(world)), [
    'balanced',
    { records: 6, decided: 6, replayed: 3 },
  ]);
});
