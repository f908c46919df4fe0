/** A partition with a damaged segment fails without affecting other partitions. */
import assert from 'node:assert/strict';
import { open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { UnreadPartitionError } from '../../../src/core/ports/kafka.ts';
import { realWorld } from '../../conformance/kafka-real.ts';
import { numbered, RecordingListener, readSourceFrom } from '../../conformance/kafka-world.ts';
import type { LocalKafka, TestKafka } from '../../support/kafka/kafka.ts';

const ZEROED_BYTES = 20_000;

/** Overwrites the middle of the only segment of a partition with zeros, as a bad disk does. */
async function damage(root: string, partition: string): Promise<void> {
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

/** @param kafka cluster whose broker the suite stops to change its files */
export function damagedSegmentSuite(kafka: TestKafka & { readonly cluster: LocalKafka }): void {
  describe('a partition that fails alone', () => {
    it('is reported and retried, while the other partition is read and the session continues', async () => {
      const world = await realWorld(kafka, { sourcePartitions: 2, shards: 1 });
      after(() => world.close());
      const group = world.groupWith({ restartDelayMs: 50 });
      const listener = new RecordingListener();
      readSourceFrom(group, listener, 0);
      const { source } = world.topics;
      const value = 'x'.repeat(1_000);
      for (let batch = 0; batch < 40; batch++)
        await kafka.write(
          source,
          Array.from({ length: 10 }, (_, n) => ({ partition: 0, key: `k${n}`, value })),
        );
      await world.produce(source, 1, numbered(0, 3));
      await kafka.cluster.kill(0, 'SIGTERM');
      await damage(kafka.cluster.dataDir as string, `${source}-0`);
      await kafka.cluster.restart(0);

      await world.settle(group.start(listener));
      await world.until('the damaged partition is reported', () => group.unread().length > 0);
      const [unread] = group.unread();
      assert.deepEqual([unread?.stream, unread?.partition], ['source', 0]);
      assert.ok(unread !== undefined && unread.offset > 0 && unread.offset < 400);
      assert.match(unread.error, /^(CORRUPT_MESSAGE|UNKNOWN): /);
      // Waits for longer than the pause before a retry. The other partition is read all the time.
      const namedMs = performance.now();
      for (let n = 3; performance.now() - namedMs < 6_000; n++) {
        await world.produce(source, 1, numbered(n, 1));
        await world.until('the other partition is read', () =>
          listener.values('source', 1).includes(`v${n}`),
        );
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
  });
}
