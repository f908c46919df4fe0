import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { eventually } from '../../support/eventually.ts';
import { type ReadRecord, testKafka } from '../../support/kafka/kafka.ts';
import { Sandbox } from '../../support/stack/sandbox.ts';
import { type Replica, type Stack, spawnReplica, startStack } from '../../support/stack/stack.ts';
import { liveJobs, ownedJobs } from '../../support/stack/stack-control.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PARTITIONS = 4;
/** Documented maximum time of an orderly shutdown. */
const SHUTDOWN_MS = 5_000;

const directory = temporaryDirectory();
const kafka = await testKafka();

/** Starts a stack whose sessions are far longer than a shutdown, to detect shards that wait for the end of a session. */
const begin = async (): Promise<Stack> => {
  const stack = await startStack(kafka, directory, {
    partitions: PARTITIONS,
    pipeline: {
      batch: { maxRows: 20, maxAge: '200ms' },
      review: { poll: '500ms' },
      kafka: { sessionTimeout: '30s' },
    },
    config: { log: { level: 'debug' } },
    policy: {
      faults: [{ operation: 'get_batch', action: 'state', state: 'PENDING', times: 'always' }],
    },
  });
  after(() => stack.stop());
  return stack;
};

/** Sends SIGTERM and waits for the end. */
async function terminate(replica: Replica): Promise<{ code: number | null; ms: number }> {
  const startedMs = performance.now();
  replica.process.kill('SIGTERM');
  const { code } = await replica.process.exited;
  return { code, ms: performance.now() - startedMs };
}

const ended = (replica: Replica) => `${replica.name}:\n${replica.lines.slice(-15).join('\n')}`;

async function ends(topic: string): Promise<ReadonlyMap<number, number>> {
  const offsets = await (await kafka.admin()).fetchTopicOffsets(topic);
  return new Map(offsets.map(({ partition, high }) => [partition, Number(high)]));
}

test('SIGTERM ends a busy replica within 5 seconds, and the other replica takes over at once and settles each review once', async (t) => {
  const stack = await begin();
  const [first, second] = [await stack.startReplica(), await stack.startReplica()];
  const source: SourceCoordinate[] = [];
  const over = new AbortController();
  const writing = (async () => {
    for (let n = 0; !over.signal.aborted; n++) {
      const value = (partition: number) =>
        JSON.stringify({ type: 'post', content: `text ${n}/${partition}` });
      const events = Array.from({ length: PARTITIONS * 10 }, (_, i) => ({
        partition: i % PARTITIONS,
        value: value(i),
      }));
      source.push(...(await kafka.write(stack.topics.source, events)));
      // Writes only slightly more than two replicas can settle, so that the backlog does not slow down the test.
      await sleep(300);
    }
  })();
  const busy = () =>
    [first, second].every((replica) => ownedJobs(replica).size === 2 && liveJobs(replica) >= 10);
  await eventually('both replicas have pending reviews', busy, { deadlineMs: 30_000 });
  const journalEnds = await ends(stack.topics.journal);
  const from = second.lines.length;
  const pending = liveJobs(first);
  const shards = [...ownedJobs(first).keys()];

  const startedMs = performance.now();
  const exited = terminate(first);
  await Promise.all(
    shards.map((shard) =>
      second.logged('owns the shard', { from, where: (line) => line.shard === shard }),
    ),
  );
  const takenMs = performance.now() - startedMs;
  const { code, ms } = await exited;
  over.abort();
  await writing;
  t.diagnostic(
    `exit after ${ms.toFixed(0)} ms with ${pending} reviews pending; taken over after ${takenMs.toFixed(0)} ms`,
  );
  assert.equal(code, 0, ended(first));
  await second.logged('first transfer to this host: service.transfer.hosts can restrict the hosts');
  assert.equal(await second.metric('objective_in_time_ratio'), 0.99);
  assert.ok(ms < SHUTDOWN_MS, `${ms} ms`);
  assert.ok(takenMs < SHUTDOWN_MS, `the other replica had the shards after ${takenMs} ms`);

  await new Sandbox(stack.sandboxUrl).setFaults([]);
  const terminal = new TerminalRecords(kafka, stack);
  await terminal.untilCount(source.length);
  await eventually(
    'nothing is in flight',
    async () => (await second.metric('items_in_flight')) === 0,
  );
  await terminal.refresh();
  terminal.assertOnceEach(source);
  // Stops the second replica, too, because a running replica could still write to its journal.
  assert.equal((await terminate(second)).code, 0, ended(second));
  // No transaction was aborted after `journalEnds`, so the running transactions were finished. An earlier claim may
  // have been aborted when the second replica joined.
  const later = ({ partition, offset }: ReadRecord) => offset >= (journalEnds.get(partition) ?? 0);
  const decided = (await kafka.readDecided(stack.topics.journal)).filter(later);
  const written = await kafka.readAll(stack.topics.journal, { uncommitted: true });
  assert.equal(written.filter(later).length, decided.length);
});

/** Starts a server that accepts connections and never responds. Returns its port. */
async function silentPort(t: TestContext): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

test('SIGTERM ends each stage of the start within 5 seconds with code 0, and a second signal at once with 130', async (t) => {
  const stack = await startStack(kafka, temporaryDirectory(), { partitions: PARTITIONS });
  t.after(() => stack.stop());
  const port = await silentPort(t);
  const config = readFileSync(stack.configFile, 'utf8');
  const start = async (stage: string, changed: string) => {
    const file = `${stack.configFile}.${stage}.yaml`;
    writeFileSync(file, changed);
    const replica = await spawnReplica(stage, file);
    t.after(() => replica.process.stop(0));
    return replica;
  };
  const silentKafka = config.replace(/brokers:\n( +- .*\n)+/, `brokers: [127.0.0.1:${port}]\n`);
  const stages: readonly [name: string, config: string, begun: string][] = [
    ['connecting to Kafka', silentKafka, 'metrics and health'],
    [
      'connecting to the service',
      config.replace(stack.sandboxUrl, `http://127.0.0.1:${port}`),
      'metrics and health',
    ],
    ['claiming', config, 'joined the group'],
  ];
  for (const [name, changed, begun] of stages) {
    const replica = await start(name, changed);
    await replica.logged(begun);
    const { code, ms } = await terminate(replica);
    assert.equal(code, 0, `${name}: ${ended(replica)}`);
    assert.ok(ms < SHUTDOWN_MS, `${name}: ${ms} ms`);
    assert.doesNotMatch(replica.lines.join('\n'), /shutdown timed out/, name);
  }
  const replica = await start('twice', silentKafka);
  await replica.logged('metrics and health');
  replica.process.kill('SIGTERM');
  replica.process.kill('SIGINT');
  assert.equal((await replica.process.exited).code, 130, ended(replica));
});
