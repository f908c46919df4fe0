import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { EncodedRecords } from '../../../src/core/bytes/encoded-records.ts';
import type { RecordPiece } from '../../../src/core/ports/kafka.ts';
import type { GroupOptions } from '../../../src/kafka/index.ts';
import { TcpProxy } from '../../chaos/harness/faults/proxy.ts';
import { type RealWorld, realWorld } from '../../conformance/kafka-real.ts';
import { numbered, RecordingListener, readSourceFrom } from '../../conformance/kafka-world.ts';
import { alterClientQuotas } from '../../support/kafka/client-quotas.ts';
import { exclusiveKafka, TestKafka } from '../../support/kafka/kafka.ts';
import { damagedSegmentSuite } from './damaged-segment.suite.ts';

// Uses its own broker, because the tests freeze and kill it.
const [seed, known] = [await TcpProxy.listen('kafka'), await TcpProxy.listen('kafka')];
after(() => Promise.all([seed.close(), known.close()]));
const kafka = await exclusiveKafka({
  proxyPorts: [known.port],
  properties: { 'quota.window.num': '6' },
});
damagedSegmentSuite(kafka);

async function joined(
  world: RealWorld,
  prepare: (listener: RecordingListener) => void = () => undefined,
  options: Partial<GroupOptions> = {},
) {
  const group = world.groupWith({ restartDelayMs: 50, ...options });
  const listener = new RecordingListener();
  readSourceFrom(group, listener, 0);
  prepare(listener);
  await world.settle(group.start(listener));
  return { group, listener };
}

async function newWorld(): Promise<RealWorld> {
  const world = await realWorld(
    kafka,
    { sourcePartitions: 2, shards: 2 },
    { 'max.message.bytes': '8000000' },
  );
  after(() => world.close());
  return world;
}

describe('a member of the group', () => {
  it('survives a listener that throws: the loss is reported and logged, and it joins again', async () => {
    const world = await newWorld();
    await world.produce(world.topics.source, 0, numbered(0, 3));
    let broken = true;
    const { listener } = await joined(world, (one) => {
      one.onFetched = () => {
        if (broken) throw new Error('the engine has a bug');
      };
    });
    await world.until('the loss is reported', () => listener.losses.length === 1);
    broken = false;
    listener.batches.length = 0;
    await world.until(
      'the records are read again',
      () => listener.records('source', 0).length === 3,
    );
    assert.match(listener.losses[0] ?? '', /the engine has a bug/);
    assert.ok(
      world.logger.lines.some(
        ({ level, fields }) =>
          level === 'error' && /the engine has a bug/.test(String(fields.error)),
      ),
    );
  });

  it('reads a record that is larger than the maximum size of a fetch', async () => {
    const world = await newWorld();
    const client = world.producersWith({}).open(0);
    const large = { key: null, value: Buffer.alloc(3_000_000, 'x') };
    await client.commit({
      journal: [{ key: 'a', value: 'b' }],
      outputs: [{ topic: world.topics.source, records: EncodedRecords.of([large]) }],
    });
    const group = world.groupWith({ maxBytes: 100_000, maxBytesPerPartition: 50_000 });
    const listener = new RecordingListener();
    readSourceFrom(group, listener, 0);
    await world.settle(group.start(listener));
    const all = () => [...listener.records('source', 0), ...listener.records('source', 1)];
    await world.until('the large record is read', () => all().length === 1);
    assert.equal(all()[0]?.value?.length, 3_000_000);
  });

  it('reports the loss when the broker ends, and joins again when it is back', async () => {
    const world = await newWorld();
    await world.produce(world.topics.source, 1, numbered(0, 2));
    // The session timeout is longer than the limit of the test, so nothing may wait for the end of the previous
    // session.
    const { group, listener } = await joined(world, () => undefined, { sessionTimeoutMs: 30_000 });
    await world.until(
      'the first records are read',
      () => listener.records('source', 1).length === 2,
    );
    await kafka.cluster.kill(0);
    await world.until('the loss is told', () => listener.losses.length > 0);
    await kafka.cluster.restart(0);
    await world.until('the member has joined again', () => listener.assignments.length >= 2);
    await world.produce(world.topics.source, 1, numbered(2, 1));
    await world.until('all records are read', () => listener.values('source', 1).includes('v2'));
    await world.settle(group.confirmMembership(new AbortController().signal));
  });

  it('finds the brokers again through the name in its configuration when no known broker is left (KIP-899)', async () => {
    const [behind] = kafka.cluster.behind ?? [];
    seed.targetPort = known.targetPort = behind ?? 0;
    const client = new TestKafka([`localhost:${seed.port}`]);
    const world = await realWorld(client, { sourcePartitions: 2, shards: 2 });
    after(async () => {
      await world.close();
      await client.close();
    });
    const { listener } = await joined(world);
    await kafka.write(world.topics.source, numbered(0, 2));
    await world.until('records are read', () => listener.records('source', 0).length === 2);
    seed.targetPort = Number(kafka.brokers[0]?.split(':')[1]);
    known.refusing = true;
    seed.reset(() => true);
    await kafka.write(world.topics.source, numbered(2, 1));
    await world.until('all are read', () => listener.values('source', 0).includes('v2'));
    const ranges = await world.settle(world.admin.ranges(world.topics.source, [0]));
    assert.equal(ranges.get(0)?.end, 3);
  });

  it('replaces its client if the group does not respond for too long', async () => {
    const world = await newWorld();
    const group = world.groupWith({ restartDelayMs: 50, maxSilenceMs: 5_000 });
    const listener = new RecordingListener();
    readSourceFrom(group, listener, 0);
    await world.settle(group.start(listener));
    await kafka.cluster.kill(0, 'SIGSTOP');
    try {
      await world.until('the loss is told', () => listener.losses.length > 0);
      assert.match(listener.losses[0] ?? '', /no response from the group for 5000 ms/);
    } finally {
      await kafka.cluster.kill(0, 'SIGCONT');
    }
    await world.until('the member has joined again', () => listener.assignments.length >= 2);
  });

  it('remains a member and reads again while a quota throttles its fetches for longer than the session', async () => {
    const world = await newWorld();
    const { group, listener } = await joined(world, undefined, { sessionTimeoutMs: 2_500 });
    const [broker = ''] = kafka.brokers;
    const quota = (rate: number | undefined) =>
      alterClientQuotas(broker, [world.topics.group], { consumer_byte_rate: rate });
    await quota(20_000);
    const longest = () =>
      Math.max(
        0,
        ...world.logger.lines
          .filter(({ message }) => /throttles this client/.test(message))
          .map(({ fields }) => Number(fields.throttledMs)),
      );
    try {
      // Two records within the window of five seconds exceed the quota. The broker applies the quota some time after
      // its response.
      for (let read = 0; longest() <= 2_500 && read < 50; read++) {
        await kafka.write(world.topics.source, [{ partition: 0, value: 'x'.repeat(90_000) }]);
        await world.until('it is read', () => listener.records('source', 0).length > read);
      }
      let again = 0;
      const signal = AbortSignal.timeout(60_000);
      const count = ({ records }: RecordPiece) => {
        again += records.length;
      };
      await world.sourceReader().read({ partition: 0, from: 0, to: 0 }, count, signal);
      assert.equal(again, 1);
    } finally {
      await quota(undefined);
    }
    assert.ok(longest() > 2_500, `throttled for ${longest()} ms`);
    assert.deepEqual([listener.losses, listener.assignments.length], [[], 1]);
    assert.ok(performance.now() - group.lastHeardMs() < 2_500);
  });

  it('stops within two seconds while the broker is frozen, and leaves no timer or connection', async () => {
    const world = await newWorld();
    const { group } = await joined(world);
    await kafka.cluster.kill(0, 'SIGSTOP');
    try {
      const startedMs = performance.now();
      await group.stop();
      assert.ok(performance.now() - startedMs < 2_000);
    } finally {
      await kafka.cluster.kill(0, 'SIGCONT');
    }
  });

  it('leaves the group within two seconds while its join waits for another member', async () => {
    const world = await newWorld();
    const { group: groupId } = world.topics;
    const admin = await kafka.admin();
    const members = async () => (await admin.describeGroups([groupId])).groups[0]?.members.length;
    const quick = world.groupWith({ heartbeatMs: 100 });
    await world.settle(quick.start(new RecordingListener()));
    const slow = world.groupWith({ sessionTimeoutMs: 30_000, heartbeatMs: 15_000 });
    await world.settle(slow.start(new RecordingListener()));
    // A third member joins. The slow member detects the join only after 15 s, and all other members wait for the slow
    // member.
    const third = world.groupWith({});
    const refused = assert.rejects(third.start(new RecordingListener()), /stopped/);
    const rejoining = () =>
      world.logger.lines.filter(({ message }) => /rebalancing, re-joining/.test(message)).length;
    await world.until('the quick member joins again', () => rejoining() >= 2);
    assert.equal(await members(), 3);
    const startedMs = performance.now();
    await quick.stop();
    assert.ok(performance.now() - startedMs < 2_000);
    assert.equal(await members(), 2);
    await third.stop();
    await refused;
  });
});
