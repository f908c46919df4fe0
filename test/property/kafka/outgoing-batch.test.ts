import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { partitionOf } from '../../../dev/kafka/partitioner.ts';
import { BufferPool } from '../../../src/core/bytes/buffer-pool.ts';
import { EncodedRecords, fits } from '../../../src/core/bytes/encoded-records.ts';
import { sizeOfRecord } from '../../../src/core/bytes/record-bytes.ts';
import type { Header, OutgoingRecord } from '../../../src/core/record.ts';
import { headBytes, OutgoingBatch } from '../../../src/kafka/producer/outgoing-batch.ts';
import { planBatches, planBatchesTo } from '../../../src/kafka/producer/send-plan.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { headerList } from '../../support/records/headers.ts';
import { readAll } from '../../support/records/read-pieces.ts';

// Unpatched kafkajs, for a comparison of bytes.
const load = createRequire(import.meta.url);
const produceRequest = load('kafkajs/src/protocol/requests/produce/v7/request.js');
const frame = load('kafkajs/src/protocol/request.js');

const text: fc.Arbitrary<Buffer | string> = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 200 }),
  fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
);
const name = fc.string({ unit: anyCharacter, maxLength: 20 });
const key = fc.option(text);
const value: fc.Arbitrary<Buffer | string | null> = fc.option(text, { nil: null });
const header: fc.Arbitrary<Header> = fc.tuple(name, value);
/** Arbitrary header fields of a batch. */
const sender = fc.record({
  producerId: fc.oneof(fc.nat(), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String)),
  producerEpoch: fc.nat({ max: 32_767 }),
  sequence: fc.nat({ max: 2 ** 31 - 1 }),
  transactionalId: fc.option(fc.string({ minLength: 1, maxLength: 60 }), { nil: undefined }),
  topic: fc.string({ minLength: 1, maxLength: 60 }),
  clientId: fc.string({ maxLength: 60 }),
  correlationId: fc.nat({ max: 2 ** 31 - 1 }),
  // Starts at 1, because kafkajs treats 0 as absent.
  timestampMs: fc.integer({ min: 1, max: 2_000_000_000_000 }),
  partition: fc.nat({ max: 10_000 }),
});

const buffers = new BufferPool(4 * 1024 * 1024);

describe('an outgoing batch', () => {
  it('and its request equal the batch and request of kafkajs byte for byte, also in a reused buffer', async () => {
    /** Converts the list of headers to kafkajs's form, which has the values of a name in an array. */
    const record = fc.record({
      key,
      value,
      headers: fc
        .uniqueArray(fc.tuple(name, fc.oneof(text, fc.array(text, { maxLength: 3 }))), {
          maxLength: 4,
          selector: ([one]) => one,
        })
        .map((list) => Object.fromEntries(list)),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 150 }),
        sender,
        async (list, by) => {
          const {
            producerId,
            producerEpoch,
            sequence,
            transactionalId,
            topic,
            clientId,
            correlationId,
            timestampMs,
            partition,
          } = by;
          const messages = list.map((fields) => ({ ...fields, timestamp: timestampMs }));
          const topicData = [
            { topic, partitions: [{ partition, firstSequence: sequence, messages }] },
          ];
          const fields = {
            acks: -1,
            timeout: 30_000,
            transactionalId,
            producerId,
            producerEpoch,
            topicData,
          };
          const theirs = await frame({ correlationId, clientId, request: produceRequest(fields) });

          const records = EncodedRecords.of(
            list.map((one) => ({ ...one, headers: headerList(one.headers) })),
          );
          const [planned] = planBatchesTo(partition, records);
          assert.ok(planned !== undefined);
          const room = headBytes({ clientId, transactionalId, topic });
          const batch = new OutgoingBatch(buffers, records, planned, room, timestampMs);
          const transactional = transactionalId !== undefined;
          batch.seal({ producerId: BigInt(producerId), producerEpoch, sequence, transactional });
          const request = batch.request({
            apiVersion: 7,
            correlationId,
            clientId,
            transactionalId,
            acks: -1,
            timeoutMs: 30_000,
            topic,
          });
          const ours = Buffer.from(request);
          batch.release(true);
          assert.deepEqual(ours, Buffer.from(theirs.buffer));
        },
      ),
    );
    assert.equal(buffers.lentBytes, 0);
  });

  it('is read back unchanged: any headers, nulls and sizes, cut anywhere, each record in its partition', async () => {
    const record: fc.Arbitrary<OutgoingRecord> = fc.record({
      key: fc.oneof(key, fc.constantFrom('a', 'b', 'c')),
      value: fc.oneof(
        value,
        fc.nat({ max: 70_000 }).map((size) => Buffer.alloc(size, 'v')),
      ),
      headers: fc.array(header, { maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { maxLength: 200 }),
        fc.integer({ min: 1, max: 5 }),
        fc.oneof(fc.integer({ min: 1, max: 3_000 }), fc.constant(900_000)),
        fc.nat({ max: 300 }),
        async (list, partitions, maxBytes, room) => {
          const records = EncodedRecords.of(list);
          const read = new Map<number, object[]>();
          for (const planned of planBatches(records, partitions, partitions - 1, maxBytes)) {
            assert.ok(planned.bytes <= maxBytes || planned.rows.length === 1);
            const batch = new OutgoingBatch(buffers, records, planned, room, 1_234);
            batch.seal({ producerId: 7n, producerEpoch: 1, sequence: 0, transactional: false });
            assert.equal(batch.bytes.length, planned.bytes);
            assert.equal(batch.count, planned.rows.length);
            const { records: found, ranges } = await readAll(Buffer.from(batch.bytes));
            batch.release(false);
            assert.deepEqual(ranges, []);
            const seen = read.get(batch.partition) ?? [];
            read.set(batch.partition, seen);
            for (const { key, value, headers, timestampMs } of found) {
              assert.equal(timestampMs, 1_234);
              seen.push({ key, value, headers });
            }
          }
          const bytes = (part: Buffer | string | null) =>
            part === null ? null : Buffer.from(part);
          const wanted = Map.groupBy(list, (one) =>
            one.key === null ? partitions - 1 : partitionOf(one.key, partitions),
          );
          for (const [partition, given] of wanted) {
            const expected = given.map(({ key, value, headers = [] }) => ({
              key: bytes(key),
              value: bytes(value),
              headers: headers.map(([name, one]) => [String(Buffer.from(name)), bytes(one)]),
            }));
            assert.deepEqual(read.get(partition), expected);
          }
          assert.deepEqual(
            [...read.keys()],
            [...wanted.keys()].sort((a, b) => a - b),
          );
          assert.equal(buffers.lentBytes, 0);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('of one record has exactly the size that `fits` compares with a topic’s limit', () => {
    // Sizes around which a length needs another byte.
    const length = fc.oneof(
      fc.nat({ max: 400 }),
      fc.integer({ min: 8_100, max: 8_300 }),
      fc.integer({ min: 1_048_300, max: 1_048_600 }),
    );
    fc.assert(
      fc.property(length, (bytes) => {
        const record = { key: 'k', value: Buffer.allocUnsafe(bytes) };
        const [batch] = planBatchesTo(0, EncodedRecords.of([record]));
        assert.ok(batch !== undefined);
        const size = sizeOfRecord(record);
        assert.deepEqual([fits(size, batch.bytes), fits(size, batch.bytes - 1)], [true, false]);
      }),
    );
  });
});
