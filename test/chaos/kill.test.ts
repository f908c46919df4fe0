/**
 * The promise on the real thing: two replicas, a sandbox and a broker as processes, 20,000 records, and a nemesis that kills
 * and freezes the replicas while the records come. CHAOS_SEED repeats the choices of an earlier run (not its timing).
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchSummary } from '../../src/sandbox/control-routes.ts';
import { eventually } from '../support/eventually.ts';
import { exclusiveKafka } from '../support/kafka.ts';
import { SeededRandom } from '../support/memory/clock.ts';
import { startStack } from '../support/stack.ts';
import { groupPositions, sandboxBatches } from '../support/stack-control.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import type { ReadRecord } from '../support/topic-reader.ts';
import { EventSource, RETURNED_HEADERS, REVIEW_RULES } from './hostile-events.ts';
import { type Evidence, judge, liveJobKeys, type Produced } from './judge.ts';
import { Nemesis, plan } from './nemesis.ts';

const RECORDS = 20_000;
const PARTITIONS = 6;
/** Writes while one attack goes on. */
const WRITES_PER_ATTACK = 6;
/** Records of a write beyond those. */
const TRICKLE = 24;
const DRAIN_MS = 60_000;
/** What is wrong in a faulty result file. */
const SPOILT = { missing: 2, duplicated: 3, unknown: 2, malformed: 1 };
/** Rows of it that have to be submitted again. */
const ROWS_SPOILT = SPOILT.missing + SPOILT.malformed;

const seed = Number(process.env.CHAOS_SEED ?? randomInt(2 ** 31));
const directory = temporaryDirectory();
const kafka = await exclusiveKafka();

test('every record has exactly one terminal record, whatever is killed or frozen when', async (t) => {
  t.diagnostic(`CHAOS_SEED=${seed}`);
  const stack = await startStack(kafka, directory, {
    partitions: PARTITIONS,
    pipeline: {
      // Shards of one and of two partitions.
      journal: { partitions: 4 },
      batch: { maxRows: 250, maxAge: '600ms' },
      output: { headers: [...RETURNED_HEADERS] },
      review: {
        poll: { initial: '50ms', max: '500ms' },
        uploadGrace: '2s',
        // More than the spoilt result files can use up for one record.
        attempts: 20,
        errorRows: 'retry',
        errorRowAttempts: 2,
      },
      kafka: { sessionTimeout: '1500ms', heartbeat: '300ms', transactionTimeout: '10s', progressInterval: '500ms' },
    },
    config: { log: { level: 'debug' } },
    policy: {
      timing: { reviewTime: '500ms', storageEventDelay: '150ms' },
      review: REVIEW_RULES,
      faults: [
        { operation: 'review', action: 'rows', ...SPOILT, shuffled: true, skip: 4, times: 20 },
        { operation: 'review', action: 'stuck', for: '3s', skip: 30, times: 15 },
        { operation: 'review', action: 'batch_error', skip: 60, times: 2 },
        { operation: 'create_batch', action: 'reset_after', skip: 20, times: 5 },
        { operation: 'upload', action: 'reset_after', skip: 20, times: 5 },
        { operation: 'download', action: 'cut', afterBytes: 3_000, skip: 20, times: 10 },
      ],
    },
  });
  after(() => stack.stop());
  const random = new SeededRandom(seed);
  const attacks = plan(random);
  const nemesis = new Nemesis(stack, random);
  const writer = new Writer(stack.topics.source, new SeededRandom(seed + 1));

  await Promise.all([nemesis.start(), nemesis.start()]);
  const perWrite = Math.ceil(RECORDS / ((attacks.length + 1) * WRITES_PER_ATTACK));
  await writer.write(perWrite * WRITES_PER_ATTACK);
  for (const attack of attacks) {
    const over = new AbortController();
    const writing = writer.writeUntil(over.signal, WRITES_PER_ATTACK, perWrite);
    try {
      await nemesis.attack(attack);
    } finally {
      over.abort();
      await writing;
    }
  }

  const decisions = kafka.reader(stack.topics.decisions);
  const deadLetters = kafka.reader(stack.topics.deadLetters);
  const found = { decisions: await decisions.readToEnd(), deadLetters: await deadLetters.readToEnd() };
  const evidence = async (): Promise<Evidence> => {
    found.decisions.push(...(await decisions.readToEnd()));
    found.deadLetters.push(...(await deadLetters.readToEnd()));
    const journal = await kafka.readAll(stack.topics.journal);
    const group = await groupPositions(kafka, stack);
    return {
      sourceTopic: stack.topics.source,
      produced: writer.produced,
      returnedHeaders: RETURNED_HEADERS,
      ...found,
      journal,
      group,
    };
  };
  const settled = async () => {
    const { decisions: decided, deadLetters: dead, journal, group } = await evidence();
    return (
      decided.length + dead.length >= writer.produced.length &&
      liveJobKeys(journal).length === 0 &&
      group.every(({ committed, end }) => committed === end)
    );
  };
  const drained = await eventually('everything is settled', settled, { deadlineMs: DRAIN_MS, everyMs: 250 }).catch(
    (error: Error) => error.message,
  );
  const batches = await sandboxBatches(stack);
  // An orderly end, so that nothing more can come after the last look.
  for (const { process } of nemesis.running) process.kill('SIGTERM');
  const exits = await Promise.all(nemesis.running.map(({ process }) => process.exited));

  const complaints = judge(await evidence());
  const { hits } = nemesis;
  t.diagnostic(`${writer.produced.length} records, ${writer.aborted} more aborted; ${JSON.stringify(hits)}`);
  t.diagnostic(secondSubmissions(batches.batches, found.decisions));
  assert.deepEqual(
    complaints,
    [],
    nemesis.running.map(({ name, lines }) => `${name}: ${lines.slice(-15).join('\n')}`).join('\n'),
  );
  assert.equal(drained, true);
  assert.deepEqual(
    exits.map(({ code }) => code),
    [0, 0],
  );
  assert.ok(writer.produced.length >= RECORDS);
  assert.ok(hits.kills >= 20, `${hits.kills} kills`);
  assert.ok(hits.killsInFlight >= 15, `${hits.killsInFlight} kills hit work in flight`);
  assert.ok(hits.zombies >= 5, `${hits.zombies} zombies`);
  assert.ok(hits.zombiesInFlight >= 5, `${hits.zombiesInFlight} zombies had work in flight`);
});

/** Writes events to the source: plainly, in transactions, and some in transactions that are aborted. */
class Writer {
  readonly produced: Produced[] = [];
  aborted = 0;
  readonly #topic: string;
  readonly #random: SeededRandom;
  readonly #events: EventSource;

  constructor(topic: string, random: SeededRandom) {
    this.#topic = topic;
    this.#random = random;
    this.#events = new EventSource(random);
  }

  async write(count: number): Promise<void> {
    const events = this.#some(count);
    const where = await kafka.write(this.#topic, events);
    for (const [index, event] of events.entries()) this.produced.push({ ...event, ...(where[index] as { offset: number }) });
  }

  /** `writes` times, at random moments; those left over when the signal comes follow at once. Until it comes, work never runs out. */
  async writeUntil(signal: AbortSignal, writes: number, count: number): Promise<void> {
    const transactional = this.#random.below(writes);
    for (let write = 0; write < writes || !signal.aborted; write++) {
      await sleep(this.#random.below(800), undefined, { signal }).catch(() => undefined);
      await Promise.all([
        this.write(write < writes ? count : TRICKLE),
        write === transactional ? this.#transactions() : undefined,
      ]);
    }
  }

  /** Several at once, so that they interleave; one commits. */
  async #transactions(): Promise<void> {
    const groups = [this.#some(5), this.#some(7), this.#some(6)] as const;
    const committed = this.#random.below(groups.length);
    await Promise.all(
      groups.map(async (events, index) => {
        const end = index === committed ? 'commit' : 'abort';
        const where = await kafka.writeTransaction(this.#topic, events, end);
        if (end === 'abort') this.aborted += events.length;
        else for (const [at, event] of events.entries()) this.produced.push({ ...event, ...(where[at] as { offset: number }) });
      }),
    );
  }

  #some(count: number) {
    return Array.from({ length: count }, () => this.#events.next(this.#random.below(PARTITIONS)));
  }
}

/**
 * Submission to the service is at-least-once: how many rows were reviewed in vain. Failed rows and those that the faulty result
 * files spoilt had to be submitted again; the rest are reviews that a crash or a zombie doubled.
 */
function secondSubmissions(batches: readonly BatchSummary[], decisions: readonly ReadRecord[]): string {
  const byBatch = Map.groupBy(
    decisions.map(({ value }) => JSON.parse(String(value)) as { status: string; batch: { id: string } }),
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
  const orphans = batches.filter(({ batch_status }) => batch_status === 'WAITING_FOR_UPLOAD').length;
  return (
    `${batches.length} batches, ${orphans} of them never uploaded; reviewed again: ${failed} failed rows, ` +
    `${spoilt} rows that result files spoilt, ${doubled} rows because of crashes`
  );
}
