/** Partitions that fail alone: one with a damaged segment, and one that kafkajs does not fetch. */
import assert from 'node:assert/strict';
import { open, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { UnreadPartitionError } from '../../../src/core/ports/kafka.ts';
import '../../../src/kafka/kafkajs/patches.ts';
import { realWorld } from '../../conformance/kafka-real.ts';
import { numbered, RecordingListener, readSourceFrom } from '../../conformance/kafka-world.ts';
import { exclusiveKafka } from '../../support/kafka/kafka.ts';

const ZEROED_BYTES = 20_000;

// Its broker is stopped, and its files are changed.
const kafka = await exclusiveKafka();

async function joined(maxSilenceMs?: number) {
  const world = await realWorld(kafka, { sourcePartitions: 2, shards: 1 });
  after(() => world.close());
  const group = world.groupWith({
    restartDelayMs: 50,
    ...(maxSilenceMs !== undefined && { maxSilenceMs }),
  });
  const listener = new RecordingListener();
  readSourceFrom(group, listener, 0);
  return { world, group, listener };
}

/** Overwrites the middle of the only segment of a partition with zeros, as a bad disk does. */
async function damage(partition: string): Promise<void> {
  const root = kafka.cluster.dataDir as string;
  const [log] = (await readdir(root, { recursive: true })).filter((file) =>
    file.endsWith(path.join(partition, '00000000000000000000.log')),
  );
  const file = await open(path.join(root, log as string), 'r+');
  try {
    const { size } = await file.stat();
    assert.ok(size > 10 * ZEROED_BYTES, `the segment has ${size} bytes`);
    await file.write(Buffer.alloc(ZEROED_BYTES), 0, ZEROED_BYTES, Math.floor(size / 2));
  } finally {
    await file.close();
  }
}

describe('a partition that fails alone', () => {
  it('is named and retried, while the other is read and the session goes on', async () => {
    const { world, group, listener } = await joined();
    const { source } = world.topics;
    const value = 'x'.repeat(1_000);
    for (let batch = 0; batch < 40; batch++)
      await kafka.write(
        source,
        Array.from({ length: 10 }, (_, n) => ({ partition: 0, key: `k${n}`, value })),
      );
    await world.produce(source, 1, numbered(0, 3));
    await kafka.cluster.kill(0, 'SIGTERM');
    await damage(`${source}-0`);
    await kafka.cluster.restart(0);

    await world.settle(group.start(listener));
    await world.until('the damaged partition is named', () => group.unread().length > 0);
    const [unread] = group.unread();
    assert.deepEqual([unread?.stream, unread?.partition], ['source', 0]);
    assert.ok(unread !== undefined && unread.offset > 0 && unread.offset < 400);
    assert.match(unread.error, /^(CORRUPT_MESSAGE|UNKNOWN): /);
    // Longer than the time for which it is left out: it was retried, and the other was not held up.
    const namedMs = performance.now();
    for (let n = 3; performance.now() - namedMs < 6_000; n++) {
      await world.produce(source, 1, numbered(n, 1));
      await world.until('the other is read', () => listener.values('source', 1).includes(`v${n}`));
    }
    assert.deepEqual(group.unread(), [unread]);
    assert.deepEqual([listener.losses, listener.assignments.length], [[], 1]);
    const warnings = world.logger.lines.filter(({ message }) => /cannot be read/.test(message));
    assert.equal(warnings.length, 1);
    const { topic, partition, offset, error } = warnings[0]?.fields ?? {};
    assert.deepEqual([topic, partition, offset, error], [source, 0, unread.offset, unread.error]);

    const reader = world.sourceReader();
    const range = { partition: 0, from: unread.offset, to: unread.offset };
    await assert.rejects(
      reader.read(range, () => undefined, AbortSignal.timeout(60_000)),
      UnreadPartitionError,
    );
  });

  it('is read again after kafkajs has forgotten to fetch it', async () => {
    const { world, group, listener } = await joined(6_000);
    const { source } = world.topics;
    interface Subscription {
      pause(partitions: readonly object[]): void;
    }
    const { prototype } = createRequire(import.meta.url)(
      'kafkajs/src/consumer/subscriptionState',
    ) as { prototype: Subscription };
    const paused = new Set<Subscription>();
    const { pause } = prototype;
    prototype.pause = function (partitions) {
      paused.add(this);
      pause.call(this, partitions);
    };
    try {
      await world.settle(group.start(listener));
    } finally {
      prototype.pause = pause;
    }
    await world.produce(source, 1, numbered(0, 1));
    await world.until('it is read', () => listener.records('source', 1).length === 1);
    for (const one of paused) one.pause([{ topic: source, partitions: [0] }]);
    await world.produce(source, 0, numbered(0, 1));
    await world.until('it is read after all', () => listener.records('source', 0).length === 1);
    assert.deepEqual([listener.losses, listener.assignments.length], [[], 1]);
    const warnings = world.logger.lines.filter(({ message }) => /cannot be read/.test(message));
    assert.match(String(warnings[0]?.fields.error), /no fetch has included it for \d+ ms/);
    await world.until('it is not named any more', () => group.unread().length === 0);
  });
});
