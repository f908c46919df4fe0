import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeBatch, MeasuredRecord } from '../../../src/kafka/record-batch.ts';
import { headerList } from '../../support/headers.ts';

// kafkajs as it was released, to compare with byte for byte.
const load = createRequire(import.meta.url);
const Record = load('kafkajs/src/protocol/recordBatch/record/v0/index.js');
const { RecordBatch } = load('kafkajs/src/protocol/recordBatch/v0/index.js');

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), bytes);
/** kafkajs takes the values of one name as an array; ours is a list of names and values. */
const record = fc.record({
  offsetDelta: fc.nat({ max: 200_000 }),
  timestampDelta: fc.oneof(fc.nat({ max: 100_000 }), fc.constant(3_000_000_000)),
  key: fc.option(text),
  value: fc.option(text),
  headers: fc.uniqueArray(
    fc.tuple(fc.string({ unit: 'binary', maxLength: 20 }), fc.oneof(text, fc.array(text, { maxLength: 3 }))),
    {
      maxLength: 4,
      selector: ([name]) => name,
    },
  ),
});

test('a batch is written byte for byte as kafkajs writes it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 40 }),
      fc.record({
        producerId: fc.nat(),
        producerEpoch: fc.nat({ max: 1000 }),
        firstSequence: fc.nat(),
        transactional: fc.boolean(),
      }),
      async (records, producer) => {
        const [firstTimestamp, maxTimestamp] = [1_700_000_000_000, 1_700_000_000_123];
        const theirs = await RecordBatch({
          ...producer,
          firstTimestamp,
          maxTimestamp,
          lastOffsetDelta: records.length - 1,
          records: records.map((fields) => Record({ ...fields, headers: Object.fromEntries(fields.headers) })),
        });
        const ours = encodeBatch(
          {
            attributes: producer.transactional ? 16 : 0,
            partitionLeaderEpoch: 0,
            firstOffset: 0n,
            lastOffsetDelta: records.length - 1,
            firstTimestamp: BigInt(firstTimestamp),
            maxTimestamp: BigInt(maxTimestamp),
            producerId: BigInt(producer.producerId),
            producerEpoch: producer.producerEpoch,
            firstSequence: producer.firstSequence,
            count: records.length,
          },
          records.map((fields) => new MeasuredRecord({ ...fields, headers: headerList(Object.fromEntries(fields.headers)) })),
        );
        assert.deepEqual(ours, Buffer.from(theirs.buffer));
      },
    ),
  );
});
