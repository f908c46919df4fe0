/** Codecs, against Java's own producer. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { realWorld } from '../../conformance/kafka-real.ts';
import { RecordingListener, readSourceFrom } from '../../conformance/kafka-world.ts';
import { testKafka } from '../../support/kafka/kafka.ts';

const kafka = await testKafka();
const { cluster } = kafka;

const CODECS = ['gzip', 'snappy', 'lz4', 'zstd'] as const;
const COUNT = 400;
/** Larger than a block of Snappy (32 KiB) and of LZ4 (64 KiB) for each batch. */
const RECORD_BYTES = 1_000;

describe('a source topic compressed with', { concurrency: 2 }, () => {
  for (const codec of CODECS) {
    it(`${codec}: what Java wrote is read`, async () => {
      const world = await realWorld(kafka, { sourcePartitions: 1, shards: 1 });
      after(() => world.close());
      const { source } = world.topics;
      const java = [
        `bootstrap.servers=${cluster.brokers[0]}`,
        `compression.type=${codec}`,
        'batch.size=200000',
        'linger.ms=100',
      ];
      await cluster.tool('org.apache.kafka.tools.ProducerPerformance', [
        ...[
          '--topic',
          source,
          '--num-records',
          String(COUNT),
          '--record-size',
          String(RECORD_BYTES),
        ],
        ...['--throughput', '-1', '--producer-props', ...java],
      ]);
      const listener = new RecordingListener();
      const group = world.group();
      readSourceFrom(group, listener, 0);
      await world.settle(group.start(listener));
      await world.until(
        'all records are read',
        () => listener.records('source', 0).length === COUNT,
      );
      for (const { value } of listener.records('source', 0)) {
        assert.match(value?.toString() ?? '', /^[A-Z]{1000}$/);
      }
      assert.ok(
        listener.batches.some(({ fetchOffset, nextOffset }) => nextOffset - fetchOffset > 70),
        'batches were large enough to span blocks',
      );
    });
  }
});
