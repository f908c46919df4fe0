/** Record batches that a broker compresses with Java's codecs because of `compression.type`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { realWorld } from '../../conformance/kafka-real.ts';
import { RecordingListener, readSourceFrom } from '../../conformance/kafka-world.ts';
import { testKafka } from '../../support/kafka/kafka.ts';

const kafka = await testKafka();
const CODECS = ['gzip', 'snappy', 'lz4', 'zstd'];
const COUNT = 400;
/** Record size with which a batch is larger than a block of Snappy (32 KiB) and LZ4 (64 KiB). */
const RECORD_BYTES = 1_000;

describe('a source topic compressed with', () => {
  for (const codec of CODECS) {
    it(`${codec} is read`, async (t) => {
      const settings = { 'compression.type': codec };
      const world = await realWorld(kafka, { sourcePartitions: 1, shards: 1 }, settings);
      t.after(() => world.close());
      const values = Array.from({ length: COUNT }, (_, n) => `${n} `.padEnd(RECORD_BYTES, `${n}x`));
      await kafka.write(
        world.topics.source,
        values.map((value) => ({ value })),
      );
      const listener = new RecordingListener();
      const group = world.group();
      readSourceFrom(group, listener, 0);
      await world.settle(group.start(listener));
      await world.until(
        'all records are read',
        () => listener.records('source', 0).length === COUNT,
      );
      assert.deepEqual(listener.values('source', 0), values);
      assert.ok(
        listener.batches.some(({ fetchOffset, nextOffset }) => nextOffset - fetchOffset > 70),
        'batches are large enough to span blocks',
      );
    });
  }
});
