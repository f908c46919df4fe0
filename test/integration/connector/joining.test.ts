import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { freePorts } from '../../../dev/kafka/ports.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { CANARY } from '../../support/stack/canary.ts';
import { startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PARTITIONS = 4;
/** Maximum pause in milliseconds with default options, as in docs/operating.md. */
const PAUSE_MS = 10_000;

const kafka = await testKafka();

/** Stack with the default group options. Replicas listen on the port in PORT. */
const stack = await startStack(kafka, temporaryDirectory(), {
  partitions: PARTITIONS,
  pipeline: {
    batch: { maxRows: 50, maxAge: '200ms' },
    review: { poll: '500ms' },
  },
  config: {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
    http: { port: '${PORT}' },
    service: { apiKey: `\${KEY:-${CANARY.key}}` },
  },
});
after(() => stack.stop());
const terminal = new TerminalRecords(kafka, stack);
const [lastingPort, otherPort, wrongPort] = await freePorts(3);

/** Writes a record to each partition every 100 ms until the returned function is called. */
function writing(): () => Promise<number> {
  let count = 0;
  let on = true;
  after(() => {
    on = false;
  });
  const over = (async () => {
    while (on) {
      const value = () => JSON.stringify({ type: 'post', content: `${count++}` });
      await kafka.write(
        stack.topics.source,
        Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, value: value() })),
      );
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return async () => {
    on = false;
    await over;
    return count;
  };
}

test('a replica that is killed and immediately restarted interrupts the other replica only briefly', async (t) => {
  const [lasting, first] = await Promise.all([
    stack.startReplica({ PORT: String(lastingPort) }),
    stack.startReplica({ PORT: String(otherPort) }),
  ]);
  await lasting.logged('joined the group', {
    where: ({ shards }) => (shards as number[]).length === PARTITIONS / 2,
  });
  const stop = writing();
  await terminal.untilCount(4 * PARTITIONS, 30_000);
  const from = lasting.lines.length;
  first.process.kill('SIGKILL');
  await first.process.exited;
  const killedMs = Date.now();
  const successor = await stack.startReplica({ PORT: String(otherPort) });
  await successor.logged(
    'removing a group member that an earlier process with this host and port left behind',
  );
  const { shards } = await lasting.logged('joined the group', { from });
  await terminal.untilCount(await stop(), 60_000);

  // Timestamps of the decisions on the lasting replica's shards.
  const times = terminal.all
    .filter(({ decision }) => (shards as number[]).includes(decision?.source.partition ?? -1))
    .map(({ record }) => record.timestampMs)
    .sort((a, b) => a - b);
  const silences = times.map((time, at) => time - (times[at - 1] ?? time));
  const longest = Math.max(...silences.filter((_, at) => (times[at] ?? 0) > killedMs));
  t.diagnostic(`longest silence of the other's shards: ${longest} ms`);
  assert.ok(longest > 0 && longest < PAUSE_MS, `${longest} ms`);
});

test('a replica with a wrong key takes no shards from working replicas, and reports why it is not ready', async () => {
  const working = stack.replicas.filter(({ process }) => process.exit === undefined);
  const before = working.map(({ lines }) => lines.length);
  const wrong = await stack.startReplica({ PORT: String(wrongPort), KEY: 'wrong' });
  await wrong.logged('API key refused; joining the group once it is accepted');
  const readiness = await fetch(`${await wrong.url()}/readyz`);
  assert.equal(readiness.status, 503);
  assert.match(
    await readiness.text(),
    /401.*this replica takes no shards before the key is accepted/,
  );

  const { all } = terminal;
  const stop = writing();
  const decided = all.length;
  await terminal.untilCount(decided + 4 * PARTITIONS, 30_000);
  await terminal.untilCount(decided + (await stop()), 60_000);
  const joins = working.flatMap(({ lines }, at) =>
    lines.slice(before[at]).filter((line) => line.includes('joined the group')),
  );
  assert.deepEqual(joins, []);
});
