import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, describe, it } from 'node:test';
import { EncodedRecords } from '../../../src/core/bytes/encoded-records.ts';
import { leaveGroup } from '../../../src/kafka/consumer/leave-group.ts';
import { connectKafka, type GroupOptions } from '../../../src/kafka/index.ts';
import type { ProtocolErrors } from '../../../src/kafka/kafkajs/shapes.ts';
import { type RealWorld, realWorld } from '../../conformance/kafka-real.ts';
import { numbered, RecordingListener, readSourceFrom } from '../../conformance/kafka-world.ts';
import { recordingLogger } from '../../conformance/recording-logger.ts';
import { exclusiveKafka } from '../../support/kafka/kafka.ts';

const load = createRequire(import.meta.url);
// Its brokers are frozen and killed.
const kafka = await exclusiveKafka();

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

/** Joins of a group fail so often, as after the broker's answer with this error. @returns the function that ends it */
function refuseJoins(groupId: string, times: number, type = 'GROUP_LOAD_IN_PROGRESS'): () => void {
  const { prototype } = load('kafkajs/src/consumer/consumerGroup') as {
    prototype: { [join: symbol]: (this: { groupId: string }) => Promise<void> };
  };
  const { KafkaJSProtocolError } = load('kafkajs/src/errors') as {
    KafkaJSProtocolError: new (from: {
      type: string;
      message: string;
      retriable: boolean;
    }) => Error;
  };
  const join = Object.getOwnPropertySymbols(prototype).find(({ description }) =>
    description?.endsWith(':join'),
  ) as symbol;
  const real = prototype[join] as () => Promise<void>;
  let left = times;
  prototype[join] = function () {
    if (this.groupId !== groupId || left-- <= 0) return real.call(this);
    return Promise.reject(
      new KafkaJSProtocolError({ type, message: `scripted ${type}`, retriable: true }),
    );
  };
  return () => {
    prototype[join] = real;
  };
}

/** The next heartbeat of a group fails as that of an unknown member. @returns the function that ends it */
function forget(groupId: string): () => void {
  const { prototype } = load('kafkajs/src/consumer/consumerGroup') as {
    prototype: { heartbeat(this: { groupId: string }, options: object): Promise<void> };
  };
  const { createErrorFromCode } = load('kafkajs/src/protocol/error') as ProtocolErrors;
  const { heartbeat } = prototype;
  prototype.heartbeat = async function (options) {
    if (this.groupId !== groupId) return await heartbeat.call(this, options);
    prototype.heartbeat = heartbeat;
    throw createErrorFromCode(25);
  };
  return () => {
    prototype.heartbeat = heartbeat;
  };
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
  it('survives a listener that throws: the loss is told and logged, and it joins again', async () => {
    const world = await newWorld();
    await world.produce(world.topics.source, 0, numbered(0, 3));
    let broken = true;
    const { listener } = await joined(world, (one) => {
      one.onFetched = () => {
        if (broken) throw new Error('the engine has a bug');
      };
    });
    await world.until('the loss is told', () => listener.losses.length === 1);
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

  it('waits longer after each session that ends soon after its join, and its log names topic, partition and offset', async () => {
    const world = await newWorld();
    await world.produce(world.topics.source, 0, numbered(0, 3));
    const lossesMs: number[] = [];
    const { listener } = await joined(world, (one) => {
      one.onFetched = () => {
        lossesMs.push(performance.now());
        throw new Error('the engine has a bug');
      };
    });
    await world.until('seven sessions have ended', () => listener.losses.length >= 7);
    const [sixth = 0, seventh = 0] = lossesMs.slice(5);
    assert.ok(seventh - sixth >= 50 * 2 ** 5 * 0.5, `${seventh - sixth} ms after five failures`);
    const { source } = world.topics;
    const place = (message: string) =>
      world.logger.lines.find((line) => line.message === message)?.fields;
    for (const message of ['a Kafka callback threw', 'lost the group: joining again']) {
      const { topic, partition, offset } = place(message) ?? {};
      assert.deepEqual([topic, partition, Number(offset)], [source, 0, 0], message);
    }
  });

  it('survives a listener that throws when it is told of a join', async () => {
    const world = await newWorld();
    let first = true;
    const { group, listener } = await joined(world, (one) => {
      one.onJoined = () => {
        if (!first) return;
        first = false;
        throw new Error('the engine has a bug');
      };
    });
    await world.until('it has joined again', () => listener.assignments.length === 2);
    assert.equal(listener.losses.length, 1);
    await world.settle(group.confirmMembership(new AbortController().signal));
  });

  it('reads a record that is larger than a fetch may be', async () => {
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

  it('says what to do when the brokers cannot be reached', async () => {
    const logger = recordingLogger();
    const nowhere = connectKafka(
      { brokers: ['127.0.0.1:1'], clientId: 'lost', connectionTimeoutMs: 300 },
      logger,
    );
    const group = nowhere.group({ groupId: 'g', sourceTopic: 's', journalTopic: 'j' });
    await assert.rejects(
      group.start(new RecordingListener()),
      /127\.0\.0\.1:1.*check that the brokers run/,
    );
    await assert.rejects(nowhere.admin.brokerCount(), /check that the brokers run/);
    await nowhere.close();
  });

  it('waits at its start for a coordinator that is loading the group, and not for long', async () => {
    const world = await newWorld();
    const group = world.groupWith({ restartDelayMs: 60_000 });
    const restore = refuseJoins(world.topics.group, 1);
    try {
      const listener = new RecordingListener();
      const startedMs = performance.now();
      await world.settle(group.start(listener));
      assert.ok(performance.now() - startedMs < 10_000, 'far less than the delay of the options');
      assert.equal(listener.losses.length, 0, 'nothing was lost that was not had');
      const warnings = world.logger.lines.filter(({ message }) =>
        /cannot be joined yet/.test(message),
      );
      assert.equal(warnings.length, 1);
      assert.match(String(warnings[0]?.fields.reason), /GROUP_LOAD_IN_PROGRESS/);
    } finally {
      restore();
    }
  });

  it('does not wait at its start for what will not pass', async () => {
    const world = await newWorld();
    const group = world.groupWith({ restartDelayMs: 50 });
    const restore = refuseJoins(world.topics.group, 1, 'GROUP_AUTHORIZATION_FAILED');
    try {
      await assert.rejects(
        world.settle(group.start(new RecordingListener())),
        /GROUP_AUTHORIZATION_FAILED.*grant READ on group/,
      );
    } finally {
      restore();
    }
  });

  it('says which topic is missing', async () => {
    const world = await newWorld();
    const group = world.groupWith({ sourceTopic: 'no-such-topic' });
    await assert.rejects(
      world.settle(group.start(new RecordingListener())),
      /no-such-topic.*create the topic/,
    );
  });

  it('is told of the loss when the broker goes, and comes back with it', async () => {
    const world = await newWorld();
    await world.produce(world.topics.source, 1, numbered(0, 2));
    // Longer than the test's patience: nothing waits for the former member's session to end.
    const { group, listener } = await joined(world, () => undefined, { sessionTimeoutMs: 30_000 });
    await world.until('the first are read', () => listener.records('source', 1).length === 2);
    await kafka.cluster.kill(0);
    await world.until('the loss is told', () => listener.losses.length > 0);
    await kafka.cluster.restart(0);
    await world.until('it has joined again', () => listener.assignments.length >= 2);
    await world.produce(world.topics.source, 1, numbered(2, 1));
    await world.until('all are read', () => listener.values('source', 1).includes('v2'));
    await world.settle(group.confirmMembership(new AbortController().signal));
  });

  it('joins again when the coordinator has forgotten it and refuses the next join', async () => {
    const world = await newWorld();
    const { group, listener } = await joined(world);
    const { group: groupId } = world.topics;
    const { groups } = await (await kafka.admin()).describeGroups([groupId]);
    const { memberId = '' } = groups[0]?.members[0] ?? {};
    const restore = refuseJoins(groupId, 1);
    try {
      // As a broker does that was frozen for longer than the session, and then loads the group.
      await leaveGroup(
        { brokers: kafka.brokers, clientId: 'other' },
        groupId,
        memberId,
        world.logger,
      );
      await world.until('it has joined again', () => listener.assignments.length === 2);
      assert.deepEqual(listener.losses, [], 'in the same session');
      await world.settle(group.confirmMembership(new AbortController().signal));
    } finally {
      restore();
    }
  });

  it('leaves as the member that it was, so that its join does not wait for the end of that session', async () => {
    const world = await newWorld();
    const { listener } = await joined(world, undefined, { sessionTimeoutMs: 30_000 });
    // As a coordinator does that expires a member, and is loaded again with it from its log.
    const restore = forget(world.topics.group);
    try {
      await world.until('it has joined again', () => listener.assignments.length === 2);
      const { groups } = await (await kafka.admin()).describeGroups([world.topics.group]);
      assert.equal(groups[0]?.members.length, 1);
    } finally {
      restore();
    }
  });

  it('gives its client up for a new one when the group says nothing for too long', async () => {
    const world = await newWorld();
    const group = world.groupWith({ restartDelayMs: 50, maxSilenceMs: 5_000 });
    const listener = new RecordingListener();
    readSourceFrom(group, listener, 0);
    await world.settle(group.start(listener));
    await kafka.cluster.kill(0, 'SIGSTOP');
    try {
      await world.until('the loss is told', () => listener.losses.length > 0);
      assert.match(listener.losses[0] ?? '', /no answer from the group for 5000 ms/);
    } finally {
      await kafka.cluster.kill(0, 'SIGCONT');
    }
    await world.until('it has joined again', () => listener.assignments.length >= 2);
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
    // A third one asks to join; the slow one does not hear of it for 15 s, and all others have to wait for it.
    const third = world.groupWith({});
    const refused = assert.rejects(third.start(new RecordingListener()), /stopped/);
    const rejoining = () =>
      world.logger.lines.filter(({ message }) => /rebalancing, re-joining/.test(message)).length;
    await world.until('the quick one joins again', () => rejoining() >= 2);
    assert.equal(await members(), 3);
    const startedMs = performance.now();
    await quick.stop();
    assert.ok(performance.now() - startedMs < 2_000);
    assert.equal(await members(), 2);
    await third.stop();
    await refused;
  });

  it('logs nothing above debug while it joins, works and leaves', async () => {
    const world = await newWorld();
    const first = await joined(world);
    const second = await joined(world);
    await world.until(
      'both have shards',
      () => first.listener.shards.length === 1 && second.listener.shards.length === 1,
    );
    await world.settle(second.group.stop());
    await world.until('the first has both', () => first.listener.shards.length === 2);
    const loud = world.logger.lines.filter(({ level }) => level === 'warn' || level === 'error');
    assert.deepEqual(loud, []);
  });

  // Last: the broker does not come back.
  it('stops within two seconds while the broker is down', async () => {
    const world = await newWorld();
    const { group } = await joined(world);
    await kafka.cluster.kill(0);
    const startedMs = performance.now();
    await group.stop();
    assert.ok(performance.now() - startedMs < 2_000);
  });
});
