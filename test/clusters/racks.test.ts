/**
 * Reads from replicas in the client's rack (KIP-392), with three brokers in a rack each. The nearest replica fetches
 * from the other brokers through the proxies, so that it can be made to lag.
 */
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectKafka } from '../../src/kafka/index.ts';
import { TcpProxy } from '../chaos/harness/faults/proxy.ts';
import { RecordingListener } from '../conformance/kafka-world.ts';
import { eventually } from '../support/eventually.ts';
import { exclusiveKafka, uniqueName } from '../support/kafka/kafka.ts';
import { RecordingLogger } from '../support/memory/telemetry/recording-telemetry.ts';

/** Broker in the client's rack. It is a follower. */
const NEAR = 1;
const CLIENT = 'rack-test';
const MOST_WAIT_MS = 10_000;
/** Duration of a fault, ms: longer than the brokers need to detect it. */
const FAULT_MS = 25_000;

const proxies = await Promise.all([1, 2, 3].map(() => TcpProxy.listen('kafka')));
const kafka = await exclusiveKafka({
  brokers: 3,
  proxyPorts: proxies.map(({ port }) => port),
  properties: {
    'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
    'replica.lag.time.max.ms': '5000',
  },
});
for (const [index, proxy] of proxies.entries())
  proxy.targetPort = kafka.cluster.behind?.[index] ?? 0;
appendFileSync(
  path.join(String(kafka.cluster.dataDir), `broker-${NEAR + 1}`, 'server.properties'),
  'inter.broker.listener.name=PROXIED\n',
);
await kafka.cluster.restart(NEAR);

const sourceTopic = await kafka.createTopic('events', { replicas: [[1, 2, 3]] });
const journalTopic = await kafka.createTopic('journal', { replicas: [[1, 2, 3]] });
// A frozen coordinator would stop the group.
let groupId = uniqueName('group');
while ((await kafka.coordinator('group', groupId)) === NEAR) groupId = uniqueName('group');
const brokers = proxies.map(({ port }) => `127.0.0.1:${port}`);
const connect = { brokers, clientId: CLIENT, rack: `zone-${NEAR + 1}` };
const connection = connectKafka(connect, new RecordingLogger());
const group = connection.group({ groupId, sourceTopic, journalTopic });
const reader = connection.sourceReader({ topic: sourceTopic });
const listener = new RecordingListener();
let position = 0;
/** Values in the order of their arrival, with the time. */
const arrivals: { readonly value: string; readonly ms: number }[] = [];
const textOf = (value: Buffer | null) => String(value?.subarray(0, 20)).trim();
listener.onJoined = () => {
  group.seek('source', 0, position);
  group.resume('source', 0);
};
listener.onFetched = async ({ stream, nextOffset, pieces }) => {
  if (stream !== 'source') return;
  position = nextOffset;
  for await (const { records } of pieces())
    for (const { value } of records) arrivals.push({ value: textOf(value), ms: performance.now() });
};
await group.start(listener);
after(async () => {
  await reader.close();
  await group.stop();
  await connection.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
});

/** Reads everything again. @returns the values */
async function reread(signal: AbortSignal): Promise<string[]> {
  const values: string[] = [];
  const range = { partition: 0, from: 0, to: position - 1 };
  await reader.read(
    range,
    ({ records }) => void values.push(...records.map(({ value }) => textOf(value))),
    signal,
  );
  return values;
}

const received = () => proxies.map((proxy) => proxy.bytesTo(CLIENT));
/** Checks that most of the bytes that the client has received since `before` come from its rack. */
function mostlyNear(t: TestContext, what: string, before: readonly number[]): void {
  const bytes = received().map((sum, index) => sum - (before[index] as number));
  const share = (bytes[NEAR] as number) / bytes.reduce((sum, one) => sum + one, 0);
  t.diagnostic(`${what}: ${(100 * share).toFixed(2)} % of ${bytes.join(' + ')} bytes`);
  assert.ok(share >= 0.95, `${what}: ${share}`);
}

const earlier: string[] = [];

test('at least 95 % of the bytes come from the rack, without the records of aborted transactions', async (t) => {
  const atFirst = received();
  for (let round = 0; round < 80; round++) {
    const end = round % 4 === 3 ? 'abort' : 'commit';
    if (end === 'commit') earlier.push(`${round}`);
    await kafka.writeTransaction(sourceTopic, [{ value: `${round}`.padEnd(200_000) }], end);
  }
  await eventually('all records are read', () => arrivals.length >= earlier.length);
  const values = arrivals.map(({ value }) => value);
  assert.deepEqual(values, earlier);
  mostlyNear(t, 'group', atFirst);
  const beforeRereads = received();
  assert.deepEqual(await reread(t.signal), earlier);
  mostlyNear(t, 'rereads', beforeRereads);
});

const isFetcher = (id: string | undefined) => id?.startsWith(`broker-${NEAR + 1}-fetch`) === true;
const FAULTS: Readonly<Record<string, readonly [() => unknown, () => unknown]>> = {
  'is frozen': [
    () => kafka.cluster.kill(NEAR, 'SIGSTOP'),
    () => kafka.cluster.kill(NEAR, 'SIGCONT'),
  ],
  'is killed': [() => kafka.cluster.kill(NEAR), () => kafka.cluster.restart(NEAR)],
  lags: [
    () => proxies.map((proxy) => proxy.silence(isFetcher)),
    () => proxies.map((proxy) => proxy.heal()),
  ],
};

for (const [name, [begin, end]] of Object.entries(FAULTS)) {
  test(`no record waits ten seconds, and none is lost or read twice, while the replica ${name}`, async (t) => {
    arrivals.length = 0;
    const confirmedMs = new Map<string, number>();
    let isOver = false;
    const write = async () => {
      for (let round = 0; !isOver; round++) {
        await kafka.write(sourceTopic, [{ value: `${name}-${round}` }]);
        confirmedMs.set(`${name}-${round}`, performance.now());
        await sleep(50);
      }
    };
    const written = write();
    const atFirst = received()[NEAR] as number;
    const isNear = () => (received()[NEAR] as number) > atFirst + 10_000;
    await eventually('the replica is read', isNear, { deadlineMs: 120_000 });
    await begin();
    try {
      const startedMs = performance.now();
      assert.deepEqual((await reread(t.signal)).slice(0, earlier.length), earlier);
      t.diagnostic(`all records read again in ${Math.round(performance.now() - startedMs)} ms`);
      await sleep(FAULT_MS);
      isOver = true;
      await written;
      await eventually('all records are read', () => arrivals.length >= confirmedMs.size);
    } finally {
      isOver = true;
      await end();
    }
    const values = arrivals.map(({ value }) => value);
    assert.deepEqual(values, [...confirmedMs.keys()]);
    const waits = arrivals.map(({ value, ms }) => ms - (confirmedMs.get(value) ?? ms));
    const longestMs = Math.round(Math.max(...waits));
    t.diagnostic(`${waits.length} records, longest wait ${longestMs} ms`);
    assert.ok(longestMs < MOST_WAIT_MS, `${longestMs} ms`);
    assert.deepEqual(listener.losses, []);
    await eventually('every replica is in sync', async () => {
      const { topics } = await (await kafka.admin()).fetchTopicMetadata();
      return topics.every(({ partitions }) => partitions.every(({ isr }) => isr.length === 3));
    });
  });
}
