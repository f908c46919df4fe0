import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { MALFORMED_BODIES, ODD_TIMESTAMPS } from '../../support/kafka/hostile-batches.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { BatchRefused, RawProducer } from '../../support/kafka/raw-producer.ts';
import { type Codec, rawBatch } from '../../support/kafka/record-batches.ts';

const kafka = await testKafka();
const { cluster } = kafka;
const producer = new RawProducer(kafka.brokers);
after(() => producer.close());
/** Brokers refuse timestamps more than an hour ahead by default. */
const ANY_TIMESTAMP = {
  'message.timestamp.after.max.ms': String(2n ** 63n - 1n),
  'retention.ms': '-1',
};

describe('a batch of bytes', () => {
  it("is taken in every codec, and malformed in ways that Java's consumer bears, which reads every record of it", async () => {
    const topic = await kafka.createTopic('raw', { partitions: 2 });
    const codecs: Codec[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
    const bodies = [
      ...codecs.map((codec) => ({ codec, tamper: undefined })),
      ...Object.values(MALFORMED_BODIES),
    ];
    for (const [index, { codec, tamper }] of bodies.entries()) {
      const records = [
        { value: `${index} a` },
        { value: `${index} b`, headers: [['h', null] as const] },
      ];
      const batch = rawBatch({ records, ...(codec && { codec }), ...(tamper && { tamper }) });
      assert.equal(await producer.write(topic, 1, batch), 2 * index);
    }
    const printed = await cluster.tool('org.apache.kafka.tools.consumer.ConsoleConsumer', [
      ...[
        '--bootstrap-server',
        String(cluster.brokers[0]),
        '--topic',
        topic,
        '--partition',
        '1',
        '--offset',
        'earliest',
      ],
      ...['--max-messages', String(2 * bodies.length), '--timeout-ms', '20000'],
    ]);
    assert.deepEqual(
      printed.trimEnd().split(/\r?\n/),
      bodies.flatMap((_, index) => [`${index} a`, `${index} b`]),
    );
  });

  it('is taken by a broker with every odd timestamp', async () => {
    const topic = await kafka.createTopic('raw-odd', { settings: ANY_TIMESTAMP });
    for (const [offset, timestampMs] of ODD_TIMESTAMPS.entries()) {
      assert.equal(
        await producer.write(topic, 0, rawBatch({ records: [{ value: 'v' }], timestampMs })),
        offset,
      );
    }
  });

  it('that the broker refuses is an error with the number that Kafka has for the reason', async () => {
    const topic = await kafka.createTopic('raw-refused');
    const batch = rawBatch({ records: [{ value: 'v' }] });
    batch.writeUInt8((batch.at(-1) ?? 0) ^ 1, batch.length - 1);
    const CORRUPT_MESSAGE = 2;
    await assert.rejects(
      producer.write(topic, 0, batch),
      (error) => error instanceof BatchRefused && error.code === CORRUPT_MESSAGE,
    );
    const unassignedCodec = rawBatch({ records: [{ value: 'v' }], attributes: 5 });
    await assert.rejects(producer.write(topic, 0, unassignedCodec), BatchRefused);
  });
});
