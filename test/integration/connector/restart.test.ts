import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { liveJobKeys } from '../../chaos/judge/judge.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { liveJobs, setFaults } from '../../support/stack/stack-control.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const JOBS = 300;
const ROWS_PER_JOB = 3;
const PARTITIONS = 6;
/** The promise; measured are a few hundred milliseconds. */
const READY_MS = 3_000;

const directory = temporaryDirectory();
const kafka = await testKafka();

test('a connector killed with 300 live jobs is ready within 3 seconds of its claim, and settles each record once', async (t) => {
  const stack = await startStack(kafka, directory, {
    partitions: PARTITIONS,
    pipeline: {
      batch: { maxRows: ROWS_PER_JOB, maxAge: '10s' },
      review: { poll: '5s' },
    },
    config: { log: { level: 'debug' } },
    // No review ends before the script is replaced.
    policy: {
      faults: [{ operation: 'get_batch', action: 'state', state: 'PENDING', times: 'always' }],
    },
  });
  after(() => stack.stop());
  const source = await kafka.write(
    stack.topics.source,
    Array.from({ length: JOBS * ROWS_PER_JOB }, (_, n) => ({
      // As many for each partition as fill its batches; no batch is left to wait for its age.
      partition: Math.floor(n / ROWS_PER_JOB) % PARTITIONS,
      key: `k${n}`,
      value: JSON.stringify({ type: 'post', content: `text ${n}`, metadata: { n } }),
    })),
  );
  const first = await stack.startReplica();
  await eventually('all jobs are live', () => liveJobs(first) === JOBS, {
    deadlineMs: 180_000,
    everyMs: 100,
  });
  first.process.kill('SIGKILL');
  await first.process.exited;
  assert.equal(liveJobKeys(await kafka.readAll(stack.topics.journal)).length, JOBS * 2);

  const second = await stack.startReplica();
  const url = await second.url();
  await eventually('it is ready', async () => (await fetch(`${url}/readyz`)).ok, { everyMs: 10 });
  const readyMs = Date.now();
  const joined = await second.logged('joined the group', {
    where: ({ shards }) => (shards as number[]).length === PARTITIONS,
  });
  const claimMs = readyMs - Date.parse(String(joined.time));
  const owned = await Promise.all(
    Array.from({ length: PARTITIONS }, (_, shard) =>
      second.logged('owns the shard', { where: (line) => line.shard === shard }),
    ),
  );
  const ownedMs =
    Math.max(...owned.map(({ time }) => Date.parse(String(time)))) -
    Date.parse(String(joined.time));
  assert.equal(liveJobs(second), JOBS);
  assert.equal(await second.metric('items_recovered_total'), JOBS * ROWS_PER_JOB);
  t.diagnostic(
    `${PARTITIONS} shards with ${JOBS} live jobs: all claimed ${ownedMs} ms after the group gave them, ready after ${claimMs} ms`,
  );
  assert.ok(claimMs < READY_MS, `${claimMs} ms`);

  await setFaults(stack, []);
  const terminal = new TerminalRecords(kafka, stack);
  await terminal.untilCount(source.length, 90_000);
  await eventually(
    'nothing is in flight',
    async () => (await second.metric('items_in_flight')) === 0,
  );
  await terminal.refresh();
  terminal.assertOnceEach(source);
  assert.deepEqual(liveJobKeys(await kafka.readDecided(stack.topics.journal)), []);
  assert.equal(await second.metric('batches_created_total'), 0, 'nothing was submitted twice');
  assert.equal(await second.metric('balance_items'), 0);
});
