/**
 * I7: the memory of the connector's process stays below the ceiling in docs/operating.md when the service is too
 * slow. No record is lost, and quiet partitions do not wait for busy partitions.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { exclusiveKafka } from '../support/kafka/kafka.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type Event, Load } from './memory-load.ts';

const PARTITIONS = 64;
const TYPES = ['post', 'comment', 'message', 'profile'] as const;
const BUDGET = 64;
/** Returns the ceiling for a budget, both in MiB, as in docs/operating.md, Memory. */
const ceiling = (budget: number) => 200 + 1.5 * budget;
const ceilingOfLargeItems = (budget: number, shards: number, largest: number) =>
  200 + 3 * budget + shards * largest;

execFileSync('npm', ['run', '--silent', 'build']);
const directories = Array.from({ length: 3 }, () => temporaryDirectory());
const kafka = await exclusiveKafka();
const type = (n: number) => TYPES[n % TYPES.length] as string;

test('many small items and a slow service: intake pauses and resumes, a quiet partition is not starved, and memory stays bounded', async (t) => {
  const load = await Load.start(kafka, directories[0] as string, {
    partitions: PARTITIONS,
    budget: BUDGET,
    batch: { maxAge: '5s' },
    uploadDelay: '250ms',
  });
  t.after(() => load.stack.stop());
  const busy = PARTITIONS - 1;
  // Most items are in a few partitions, in many fetched batches. A quiet item must not wait for the later batches.
  const partitionOf = (n: number) => (n % 4 === 0 ? (n / 4) % busy : n % 8);
  await load.produce(
    Array.from(
      { length: 160_000 },
      (_, n): Event => ({
        partition: partitionOf(n),
        type: type(n),
        content: 'x'.repeat(400 + (n % 90)),
      }),
    ),
  );
  const paused = () => load.gauge('shards_paused', { reason: 'memory' });
  await eventually('intake waits for memory', async () => (await paused()) > 0, {
    deadlineMs: 60_000,
  });
  await load.produce([{ partition: busy, type: 'quiet', content: 'Is anybody there?' }]);
  await eventually(
    'the quiet item is submitted',
    async () => (await load.sandbox.batches()).some((batch) => batch.type === 'quiet'),
    { deadlineMs: 120_000, everyMs: 100 },
  );
  const open = load.produced - (await load.gauge('decisions_total'));
  await load.decided();
  await eventually('intake does not wait for memory any more', async () => (await paused()) === 0);
  t.diagnostic(
    `peak ${Math.round(load.peakMiB())} MiB; the quiet item was submitted before ${open} others`,
  );
  assert.ok(load.peakMiB() < ceiling(BUDGET), `${load.peakMiB()} MiB`);
  assert.ok(ceiling(BUDGET) < 300);
  assert.ok(open > 10_000, `only ${open} others were open when the quiet item was submitted`);
  assert.deepEqual(await load.judge(), { missing: 0, twice: 0 });
});

test('items from 10 bytes to 2 MB and a slow service: memory stays bounded', async (t) => {
  const load = await Load.start(kafka, directories[1] as string, {
    partitions: PARTITIONS,
    budget: BUDGET,
    batch: { maxAge: '20s' },
    uploadDelay: '250ms',
  });
  t.after(() => load.stack.stop());
  // One character outside Latin-1 makes V8 use two bytes for every character.
  const large = `\u{1F642}${'line, "quoted"\n'.repeat(140_000)}`;
  await load.produce(
    (function* () {
      for (let n = 0; n < 2_048; n++) {
        yield {
          partition: n % PARTITIONS,
          type: type(n >> 6),
          content: 'z'.repeat(10 + (n % 1_000)),
        };
        if (n % 32 === 0)
          yield { partition: (n >> 5) % PARTITIONS, type: type(n >> 5), content: `${n} ${large}` };
      }
    })(),
  );
  await load.decided();
  t.diagnostic(`peak ${Math.round(load.peakMiB())} MiB`);
  const most = ceilingOfLargeItems(BUDGET, PARTITIONS, Buffer.byteLength(large) / 2 ** 20);
  assert.ok(load.peakMiB() < most, `${load.peakMiB()} MiB, limit ${most}`);
  assert.deepEqual(await load.judge(), { missing: 0, twice: 0 });
});

test('batches of 100,000 rows are uploaded and their results downloaded: one of short rows, one of 60 MB', async (t) => {
  const budget = 256;
  const load = await Load.start(kafka, directories[2] as string, {
    partitions: 2,
    budget,
    batch: { maxRows: 100_000, maxBytes: '80MiB', maxAge: '10m' },
    uploadDelay: '250ms',
  });
  t.after(() => load.stack.stop());
  for (const [partition, bytes] of [100, 480].entries()) {
    await load.produce(
      Array.from(
        { length: 100_100 },
        (_, n): Event => ({ partition, type: 'post', content: `${n} `.padEnd(bytes, 'r') }),
      ),
    );
    await load.decided();
  }
  const batches = await load.sandbox.batches();
  t.diagnostic(`peak ${Math.round(load.peakMiB())} MiB`);
  assert.deepEqual(
    batches.map(({ rows }) => rows),
    // The first batch of each shard is small.
    [100, 100_000, 100, 100_000],
  );
  assert.ok(load.peakMiB() < ceiling(budget), `${load.peakMiB()} MiB`);
  assert.deepEqual(await load.judge(), { missing: 0, twice: 0 });
});
