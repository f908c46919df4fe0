/**
 * The promise on the real thing: two replicas with a pipeline of each kind, a sandbox and a broker as processes, 6,000 records
 * to review, some to import and ids to look up, and an attacker that kills and freezes the replicas while they come. CHAOS_SEED
 * repeats the choices of an earlier run (not its timing).
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, test } from 'node:test';
import type { BatchSummary } from '../../src/sandbox/control-routes.ts';
import { eventually } from '../support/eventually.ts';
import { exclusiveKafka } from '../support/kafka/kafka.ts';
import { SeededRandom } from '../support/memory/clock.ts';
import { type StackPipeline, startStack } from '../support/stack/stack.ts';
import { sandboxBatches } from '../support/stack/stack-control.ts';
import type { ReadRecord } from '../support/stack/topic-reader.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { Witness } from './judge/witness.ts';
import { REVIEW_RULES } from './load/hostile-events.ts';
import { KINDS, setupOf } from './load/pipelines.ts';
import { Writer } from './load/writer.ts';
import { plan, ReplicaAttacker } from './replica-attacks.ts';

/** By kind, at least. */
const RECORDS = { review: 6_000, import: 1_200, lookup: 400 };
/** Writes while one attack goes on. */
const WRITES_PER_ATTACK = 6;
const DRAIN_MS = 60_000;
/** Defects of a faulty result file. */
const SPOILT = { missing: 2, duplicated: 3, unknown: 2, malformed: 1 };
/** Rows of it that have to be submitted again. */
const ROWS_SPOILT = SPOILT.missing + SPOILT.malformed;
const TIMES = {
  uploadGrace: '2s',
  kafka: {
    sessionTimeout: '1500ms',
    heartbeat: '300ms',
    transactionTimeout: '10s',
    progressInterval: '500ms',
  },
};

const seed = Number(process.env.CHAOS_SEED ?? randomInt(2 ** 31));
const directory = temporaryDirectory();
const kafka = await exclusiveKafka();

test('every record has exactly one terminal record, whatever its kind, and whatever is killed or frozen when', async (t) => {
  t.diagnostic(`CHAOS_SEED=${seed}`);
  const stack = await startStack(kafka, directory, {
    ...setupOf(KINDS, TIMES),
    config: { log: { level: 'debug' } },
    policy: {
      timing: { reviewTime: '500ms', importTime: '300ms', storageEventDelay: '150ms' },
      review: REVIEW_RULES,
      faults: [
        { operation: 'review', action: 'rows', ...SPOILT, shuffled: true, skip: 4, times: 20 },
        { operation: 'review', action: 'stuck', for: '3s', skip: 30, times: 15 },
        { operation: 'review', action: 'batch_error', skip: 60, times: 2 },
        { operation: 'create_batch', action: 'reset_after', skip: 20, times: 5 },
        { operation: 'upload', action: 'reset_after', skip: 20, times: 5 },
        { operation: 'download', action: 'cut', afterBytes: 3_000, skip: 20, times: 10 },
        { operation: 'ingest', action: 'import_failed', skip: 10, times: 5 },
        { operation: 'ingest', action: 'stuck', for: '3s', skip: 10, times: 5 },
        { operation: 'create_import', action: 'reset_after', skip: 10, times: 5 },
        { operation: 'upload_import', action: 'reset_after', skip: 10, times: 5 },
        { operation: 'get_decision', action: 'answer', status: 503, skip: 50, times: 10 },
        { operation: 'get_decision', action: 'reset_after', skip: 50, times: 10 },
      ],
    },
  });
  after(() => stack.stop());
  const random = new SeededRandom(seed);
  const attacks = plan(random);
  const attacker = new ReplicaAttacker(stack, random);
  const lines = KINDS.map((kind, index) => {
    const pipeline = stack.pipelines[index] as StackPipeline;
    const writer = new Writer(kafka, stack, pipeline, kind, new SeededRandom(seed + 1 + index));
    return {
      kind,
      writer,
      perWrite: Math.ceil(RECORDS[kind] / ((attacks.length + 1) * WRITES_PER_ATTACK)),
    };
  });

  await Promise.all([attacker.start(), attacker.start()]);
  await Promise.all(
    lines.map(({ writer, perWrite }) => writer.write(perWrite * WRITES_PER_ATTACK)),
  );
  for (const attack of attacks) {
    const over = new AbortController();
    const writing = Promise.all(
      lines.map(({ writer, perWrite }) =>
        writer.writeUntil(over.signal, WRITES_PER_ATTACK, perWrite),
      ),
    );
    try {
      await attacker.attack(attack);
    } finally {
      over.abort();
      await writing;
    }
  }

  const witnesses = lines.map(
    ({ kind, writer }, index) =>
      new Witness(kafka, stack.pipelines[index] as StackPipeline, kind, writer.produced),
  );
  const settled = async () => {
    for (const witness of witnesses) if (!(await witness.isSettled())) return false;
    return true;
  };
  const drained = await eventually('everything is settled', settled, {
    deadlineMs: DRAIN_MS,
    everyMs: 250,
  }).catch((error: Error) => error.message);
  const batches = await sandboxBatches(stack);
  for (const replica of attacker.running)
    assert.equal(await replica.secretServed(), undefined, replica.name);
  // An orderly end, so that nothing more can come after the last look.
  for (const { process } of attacker.running) process.kill('SIGTERM');
  const exits = await Promise.all(attacker.running.map(({ process }) => process.exited));

  const complaints = (
    await Promise.all(witnesses.map((witness) => witness.complaints(stack.sandboxUrl)))
  ).flat();
  const { hits } = attacker;
  for (const { kind, writer } of lines)
    t.diagnostic(`${kind}: ${writer.produced.length} records, ${writer.aborted} more aborted`);
  t.diagnostic(JSON.stringify(hits));
  t.diagnostic(secondSubmissions(batches.batches, witnesses[0]?.outputs ?? []));
  assert.deepEqual(
    complaints,
    [],
    attacker.running
      .map(({ name, lines: log }) => `${name}: ${log.slice(-15).join('\n')}`)
      .join('\n'),
  );
  assert.equal(drained, true);
  assert.deepEqual(
    exits.map(({ code }) => code),
    [0, 0],
  );
  for (const { kind, writer } of lines)
    assert.ok(writer.produced.length >= RECORDS[kind], `${writer.produced.length} of ${kind}`);
  assert.ok(hits.kills >= 20, `${hits.kills} kills`);
  assert.ok(hits.killsInFlight >= 15, `${hits.killsInFlight} kills hit work in flight`);
  assert.ok(hits.zombies >= 5, `${hits.zombies} zombies`);
  assert.ok(hits.zombiesInFlight >= 5, `${hits.zombiesInFlight} zombies had work in flight`);
});

/**
 * Submission to the service is at-least-once: how many rows were reviewed in vain. Failed rows and those that the faulty result
 * files spoilt had to be submitted again; the rest are reviews that a crash or a zombie doubled.
 */
function secondSubmissions(
  batches: readonly BatchSummary[],
  decisions: readonly ReadRecord[],
): string {
  const byBatch = Map.groupBy(
    decisions.map(
      ({ value }) => JSON.parse(String(value)) as { status: string; batch: { id: string } },
    ),
    ({ batch }) => batch.id,
  );
  const reviewed = batches.filter(({ batch_status }) => batch_status === 'SUCCESS');
  let failed = 0;
  let spoilt = 0;
  let doubled = 0;
  for (const { batch_id, rows, error_rows, fault } of reviewed) {
    const decided = byBatch.get(batch_id) ?? [];
    const again = error_rows - decided.filter(({ status }) => status === 'ERROR').length;
    const lost = fault === 'rows' ? Math.min(ROWS_SPOILT, rows) : 0;
    failed += again;
    spoilt += lost;
    doubled += Math.max(0, rows - decided.length - again - lost);
  }
  const orphans = batches.filter(
    ({ batch_status }) => batch_status === 'WAITING_FOR_UPLOAD',
  ).length;
  return (
    `${batches.length} batches, ${orphans} of them never uploaded; reviewed again: ${failed} failed rows, ` +
    `${spoilt} rows that result files spoilt, ${doubled} rows because of crashes`
  );
}
