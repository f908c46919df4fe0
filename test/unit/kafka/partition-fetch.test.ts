import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toOffset, UnusableOffset } from '../../../src/kafka/errors.ts';
import { OWN_TOPIC_LIMITS, PartitionFetch } from '../../../src/kafka/kafkajs/partition-fetch.ts';
import type { FetchedPartition } from '../../../src/kafka/kafkajs/shapes.ts';
import {
  type RawBatch,
  TRANSACTIONAL,
  writeBatch,
  writeMarker,
} from '../../support/kafka/record-batches.ts';
import { partsOf } from '../../support/records/record-parts.ts';

function data(batches: readonly Buffer[], given: Partial<FetchedPartition> = {}): FetchedPartition {
  const messages = Buffer.concat(batches);
  return {
    partition: 3,
    highWatermark: '100',
    lastStableOffset: '90',
    abortedTransactions: null,
    messages,
    ...given,
  };
}

/** Returns a batch of two records from offset 5 on. */
const two = (given: RawBatch = {}) =>
  writeBatch({
    baseOffset: 5,
    baseTimestamp: 7n,
    records: [{ value: Buffer.from('v5') }, { value: Buffer.from('v6') }],
    ...given,
  });

describe('a fetch of one partition', () => {
  it('is delivered as a copy, which release frees', async () => {
    const fetched = data([two()]);
    const batch = new PartitionFetch('t', '5', fetched).toFetchedBatch('source', OWN_TOPIC_LIMITS);
    fetched.messages.fill(0);
    const values: (Buffer | null)[] = [];
    for await (const { records } of batch.pieces())
      values.push(...records.map(({ value }) => value));
    assert.deepEqual(values.map(String), ['v5', 'v6']);
    batch.release?.();
    assert.deepEqual(
      values.map((value) => value?.length),
      [0, 0],
    );
  });

  it('never moves the position back', () => {
    assert.equal(new PartitionFetch('t', '20', data([two()])).nextOffset, 20);
  });

  it('becomes the batch that the engine reads, without aborted records', async () => {
    const aborted = writeBatch({
      baseOffset: 7,
      producerId: 9n,
      attributes: TRANSACTIONAL,
      records: [{}],
    });
    const abortedTransactions = [{ producerId: '9', firstOffset: '7' }];
    const fetched = data([two(), aborted, writeMarker(8, 9n, 'abort')], { abortedTransactions });
    const batch = new PartitionFetch('t', '6', fetched).toFetchedBatch('source', OWN_TOPIC_LIMITS);
    const { stream, partition, fetchOffset, nextOffset, endOffset, bytes } = batch;
    assert.deepEqual(
      [stream, partition, fetchOffset, nextOffset, endOffset, bytes],
      ['source', 3, 6, 9, 90, fetched.messages.length],
    );
    const pieces = [];
    for await (const piece of batch.pieces())
      pieces.push({ ...piece, records: piece.records.map(partsOf) });
    const record = {
      partition: 3,
      offset: 6,
      timestampMs: 7,
      key: null,
      value: Buffer.from('v6'),
      headers: [],
    };
    assert.deepEqual(pieces, [{ records: [record], unreadable: undefined, nextOffset: 9 }]);
  });

  it('with damaged bytes becomes an unreadable range when it is read, and does not fail before', async () => {
    const damaged = two();
    damaged.fill(0xff, 61);
    const fetch = new PartitionFetch('t', '5', data([damaged]));
    assert.deepEqual([fetch.isEmpty(), fetch.nextOffset], [false, 7]);
    const ranges = [];
    for await (const { records, unreadable } of fetch.pieces(OWN_TOPIC_LIMITS)) {
      assert.deepEqual(records, []);
      ranges.push([unreadable?.from, unreadable?.to, unreadable?.poison.reason]);
    }
    assert.deepEqual(ranges, [[5, 7, 'unreadable_batch']]);
  });
});

describe('offsets', () => {
  it('that a number cannot represent exactly are refused', () => {
    assert.equal(toOffset('9007199254740991'), 2 ** 53 - 1);
    for (const text of ['9007199254740993', '-1', 'x', '1.5', ''])
      assert.throws(() => toOffset(text), UnusableOffset, text);
  });
});
