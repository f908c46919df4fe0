/**
 * Audits of a running connector in random histories. At any time and speed, no record in flight may be reported as
 * missing or double, and deliberate damage must be found exactly.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuditReport, audit } from '../../../../src/tools/inspect/audit.ts';
import {
  delayOutputMarkers,
  explain,
  inspectionOf,
  memoryPosition,
  rewriteReads,
} from '../../../support/engine/inspection.ts';
import { World } from '../../../support/engine/world.ts';
import { SeededRandom } from '../../../support/memory/clock.ts';
import type { CommitFate } from '../../../support/memory/kafka/kafka.ts';
import { headerOf } from '../../../support/records/headers.ts';

/** Fixed and random seeds. A failure names its seed. */
const SEEDS = [
  1,
  2,
  3,
  4,
  5,
  6,
  7,
  8,
  ...Array.from({ length: 2 }, () => 1_000 + Math.floor(Math.random() * 2 ** 30)),
];
/** Reads each partition in one fetch, which is enough for a world that no longer changes. */
const WHOLE = { fetchRecords: 1_000 };
const FATES: readonly CommitFate[] = [
  'reply-lost',
  'lost',
  'fenced',
  'aborted',
  { fate: 'late', lateMs: 3_000 },
];

function chaoticWorld(seed: number): { world: World; random: SeededRandom; calm: () => void } {
  const random = new SeededRandom(seed);
  let faulty = true;
  const strikes = (probability: number) => faulty && random.next() < probability;
  const world = new World({
    seed,
    shuffle: true,
    partitions: 1 + random.below(3),
    options: {
      batch: { maxRows: 1 + random.below(8), maxAgeMs: 500 + random.below(2_000) },
      chunk: { maxRows: 1 + random.below(4) },
      journal: { partitions: 1 + random.below(2) },
      review: { graceMs: 20_000, pauseMs: 5_000 },
    },
    hooks: {
      commitFate: () =>
        strikes(0.05) ? (FATES[random.below(FATES.length)] as CommitFate) : 'commit',
    },
    service: {
      review: () =>
        strikes(0.06) ? { state: 'failed', afterMs: 500 } : { afterMs: random.below(4_000) },
    },
  });
  delayOutputMarkers(world, () => random.below(1_500));
  const calm = () => {
    faulty = false;
  };
  return { world, random, calm };
}

function assertBalanced(report: AuditReport, when: string): void {
  const { totals } = report;
  assert.equal(report.verdict, 'balanced', `${when}: ${JSON.stringify(report)}`);
  const accounts = totals.decided + totals.deadLettered + totals.waiting + totals.live;
  assert.equal(accounts, totals.records, when);
}

test('while a connector is killed, fenced and rebalanced the audit never reports a record as missing or double', async () => {
  let inFlight = 0;
  let audits = 0;
  for (const seed of SEEDS) {
    const { world, random, calm } = chaoticWorld(seed);
    world.start();
    const position = memoryPosition();
    await world.clock.advance(3_000);
    for (let step = 0; step < 8; step++) {
      world.produce(random.below(15), { poisonEvery: 7 });
      await world.clock.advance(random.below(2_000));
      const running = world.instances.filter(({ process }) => process.state === 'running');
      if (random.next() < 0.15 && running.length > 0)
        running[random.below(running.length)]?.process.kill();
      if (random.next() < 0.2 || running.length === 0) world.start();
      const sinceMs = random.next() < 0.5 ? world.clock.now() - random.below(5_000) : undefined;
      const auditing = audit(inspectionOf(world, { fetchRecords: 3 + random.below(30) }), {
        sinceMs,
        position: random.next() < 0.7 ? position : undefined,
      });
      // Records arrive during the audit.
      world.produce(random.below(6), { poisonEvery: 5 });
      const report = await world.through(auditing, 10 * 60_000);
      assertBalanced(report, `seed ${seed}, step ${step}`);
      inFlight += report.totals.waiting + report.totals.live;
      audits++;
    }
    calm();
    world.start();
    await world.untilSettled(1_800_000);
    await world.clock.advance(5_000);
    const report = await world.through(audit(inspectionOf(world, WHOLE)), 600_000);
    assertBalanced(report, `seed ${seed}, at the end`);
    assert.equal(report.totals.records, world.produced);
    assert.equal(report.totals.waiting + report.totals.live, 0);
  }
  assert.ok(inFlight > audits, `${inFlight} records were in flight in ${audits} audits`);
});

test('the audit finds exactly the records without a terminal record and the records with two', async () => {
  for (const seed of SEEDS.slice(0, 5)) {
    const { world, random, calm } = chaoticWorld(seed);
    calm();
    world.start();
    world.produce(60, { poisonEvery: 6 });
    await world.untilSettled(600_000);
    await world.clock.advance(5_000);
    const { cluster } = world.kafka;
    const lost = new Set<string>();
    const twice = new Set<string>();
    const position = memoryPosition();
    await world.through(audit(inspectionOf(world, WHOLE), { position }), 600_000);
    const settled = world.decisions().map(({ partition, offset }) => ({ partition, offset }));
    for (const decision of world.published('decisions')) {
      const at = settled.shift();
      if (at === undefined || random.next() > 0.1) continue;
      twice.add(`${at.partition}:${at.offset}`);
      cluster.log('decisions', decision.partition).append([decision], world.clock.now());
    }
    // A log can only delete its beginning, so the terminal records are hidden instead.
    const inspection = inspectionOf(world, WHOLE);
    const hidden = new Set<string>();
    for (const letter of world.published('dead')) {
      if (random.next() > 0.4) continue;
      lost.add(
        `${headerOf(letter, 'dead-letter-partition')}:${headerOf(letter, 'dead-letter-offset')}`,
      );
      hidden.add(`${letter.partition}/${letter.offset}`);
    }
    rewriteReads(inspection, (topic, records) =>
      topic === 'dead'
        ? records.filter((one) => !hidden.has(`${one.partition}/${one.offset}`))
        : records,
    );
    const report = await world.through(audit(inspection), 600_000);
    assert.deepEqual(listed(report, 'missingOffsets'), lost);
    assert.deepEqual(listed(report, 'doubleOffsets'), twice);
    const next = await world.through(audit(inspection, { position }), 600_000);
    assert.equal(next.totals.double, twice.size);
    assert.equal(
      report.verdict,
      lost.size > 0 ? 'missing' : twice.size > 0 ? 'double' : 'balanced',
    );
    for (const of of lost) {
      const [partition, offset] = of.split(':').map(Number) as [number, number];
      const explained = await explain(world, inspection, { partition, offset });
      assert.equal(explained.state, 'missing');
    }
  }
});

function listed(report: AuditReport, list: 'missingOffsets' | 'doubleOffsets'): Set<string> {
  const all = new Set<string>();
  for (const balance of report.partitions)
    for (const [first, last] of balance[list])
      for (let at = first; at <= last; at++) all.add(`${balance.partition}:${at}`);
  return all;
}

test('explain and audit agree on each record', async () => {
  for (const seed of SEEDS.slice(0, 3)) {
    const { world, random } = chaoticWorld(seed);
    world.start();
    for (let step = 0; step < 4; step++) {
      world.produce(random.below(15), { poisonEvery: 7 });
      await world.clock.advance(random.below(3_000));
    }
    // The world no longer changes, so both tools read the same state.
    for (const { process } of world.instances) process.kill();
    world.produce(5);
    await world.clock.advance(120_000);
    const { totals } = await world.through(audit(inspectionOf(world, WHOLE)), 600_000);
    const states: Record<string, number> = {};
    for (let partition = 0; partition < world.kafka.cluster.partitions('content'); partition++) {
      for (const { offset } of world.kafka.cluster.log('content', partition).committed()) {
        const { state } = await explain(world, inspectionOf(world, WHOLE), { partition, offset });
        states[state] = (states[state] ?? 0) + 1;
      }
    }
    const { decided, deadLettered, live, waiting } = totals;
    assert.deepEqual(
      { decided: 0, deadLettered: 0, live: 0, waiting: 0, ...states },
      {
        ...{ decided, deadLettered, live, waiting },
      },
    );
  }
});
