/** A hung broker, seen from outside: what the probes, the gauges and the log report, and that everything ends by itself. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { exclusiveKafka } from '../../support/kafka/kafka.ts';
import { Sandbox } from '../../support/stack/sandbox.ts';
import { type Replica, type Stack, startStack } from '../../support/stack/stack.ts';
import { liveJobs } from '../../support/stack/stack-control.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PARTITIONS = 2;
/** After the last fault everything is decided within this time, on a machine that does other things too. */
const DRAIN_MS = 90_000;
const SEEN_MS = 60_000;
const SILENT = /the brokers have not answered group \S+ for \d+ s|not a member of group/;

const directory = temporaryDirectory();
const kafka = await exclusiveKafka();

async function begin(): Promise<{ stack: Stack; replica: Replica; terminal: TerminalRecords }> {
  const stack = await startStack(kafka, directory, {
    partitions: PARTITIONS,
    pipeline: {
      batch: { maxRows: 5, maxAge: '1s' },
      review: { poll: '1s' },
    },
    config: {
      log: { level: 'debug' },
      kafka: { requestTimeout: '10s' },
      service: { timeout: '15s' },
    },
    policy: {
      faults: [{ operation: 'get_batch', action: 'state', state: 'PENDING', times: 'always' }],
    },
  });
  after(() => stack.stop());
  return {
    stack,
    replica: await stack.startReplica(),
    terminal: new TerminalRecords(kafka, stack),
  };
}

const write = (stack: Stack, count: number) =>
  kafka.write(
    stack.topics.source,
    Array.from({ length: count }, (_, n) => ({
      partition: n % PARTITIONS,
      value: JSON.stringify({ type: 'post', content: `text ${n}` }),
    })),
  );

async function probe(
  replica: Replica,
  path: '/livez' | '/readyz',
): Promise<{ status: number; body: string }> {
  const answer = await fetch(`${await replica.url()}${path}`);
  return { status: answer.status, body: await answer.text() };
}

/** Resolves when `seen` holds; liveness is asked all the time and must never fail. */
async function whileAlive(
  replica: Replica,
  what: string,
  seen: () => Promise<boolean>,
): Promise<void> {
  let dead: string | undefined;
  await eventually(
    what,
    async () => {
      const { status, body } = await probe(replica, '/livez');
      if (status !== 200) dead = body;
      return dead !== undefined || (await seen());
    },
    { deadlineMs: SEEN_MS, everyMs: 200 },
  ).catch((error: Error) => {
    throw new Error(`${error.message}\n${replica.lines.slice(-60).join('\n')}`, { cause: error });
  });
  assert.equal(dead, undefined);
}

const waits = (replica: Replica, reason: string) => replica.metric('shards_paused', { reason });

test('the broker frozen: alive, not ready and why, waiting for Kafka; thawed, all is decided once by the same process', async (t) => {
  const { stack, replica, terminal } = await begin();
  const source = await write(stack, 40);
  await eventually('work is in flight', () => liveJobs(replica) >= 4, { deadlineMs: SEEN_MS });

  await kafka.cluster.kill(0, 'SIGSTOP');
  const frozenMs = performance.now();
  await new Sandbox(stack.sandboxUrl).setFaults([]);
  await whileAlive(
    replica,
    'a transaction is seen to wait',
    async () => (await waits(replica, 'kafka')) > 0,
  );
  // A shard whose transaction was fenced waits for its claim before the silence counts as one.
  await whileAlive(replica, 'it is not ready because the brokers are silent', async () => {
    const { status, body } = await probe(replica, '/readyz');
    return status === 503 && SILENT.test(body);
  });
  await replica.logged('pipeline stalled', { where: ({ reason }) => reason === 'kafka' });
  // Longer than the client's own patience: it gives its requests up, and retries.
  await whileAlive(
    replica,
    'a shard was lost and waits',
    async () => (await waits(replica, 'kafka')) > 0,
  );

  await kafka.cluster.kill(0, 'SIGCONT');
  const thawedMs = performance.now();
  await terminal.untilCount(source.length, DRAIN_MS);
  await eventually(
    'it is ready again',
    async () => (await probe(replica, '/readyz')).status === 200,
    { deadlineMs: SEEN_MS },
  );
  t.diagnostic(
    `frozen for ${Math.round(thawedMs - frozenMs)} ms, drained ${Math.round(performance.now() - thawedMs)} ms later`,
  );
  await terminal.refresh();
  terminal.assertOnceEach(source);
  assert.equal(replica.process.exit, undefined);
});
