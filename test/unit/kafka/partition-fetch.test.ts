import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toFetchedBatch, toOffset, toRecords } from '../../../src/kafka/offsets.ts';
import { type DecodedMessage, type PartitionData, PartitionFetch } from '../../../src/kafka/partition-fetch.ts';

function data(messages: DecodedMessage[], given: Partial<PartitionData> = {}, nextOffset?: number): PartitionData {
  const list: PartitionData['messages'] = messages;
  if (nextOffset !== undefined) list.nextOffset = nextOffset;
  return { partition: 3, highWatermark: '100', lastStableOffset: '90', abortedTransactions: null, messages: list, ...given };
}

function record(offset: number, producerId = '-1', key: Buffer | null = null): DecodedMessage {
  const batchContext = { producerId, inTransaction: producerId !== '-1' };
  return {
    offset: String(offset),
    timestamp: '7',
    key,
    value: Buffer.from(`v${offset}`),
    headers: {},
    isControlRecord: false,
    batchContext,
  };
}

function marker(offset: number, producerId: string, type: 'abort' | 'commit'): DecodedMessage {
  const key = Buffer.from([0, 0, 0, type === 'abort' ? 0 : 1]);
  return { ...record(offset, producerId, key), isControlRecord: true };
}

const offsets = (fetch: PartitionFetch) => fetch.messages.map(({ offset }) => Number(offset));

describe('a fetch of one partition, read_committed', () => {
  it('hides interleaved aborted transactions of several producers, whatever order the broker lists them in', () => {
    const messages = [
      record(0, '1'),
      record(1, '2'),
      record(2),
      record(3, '3'),
      marker(4, '2', 'abort'),
      record(5, '2'),
      record(6, '1'),
      marker(7, '1', 'abort'),
      marker(8, '3', 'commit'),
      marker(9, '2', 'commit'),
    ];
    const abortedTransactions = [
      { producerId: '2', firstOffset: '1' },
      { producerId: '1', firstOffset: '0' },
    ];
    const fetch = new PartitionFetch('t', '0', data(messages, { abortedTransactions }, 10));
    assert.deepEqual(offsets(fetch), [2, 3, 5]);
    assert.equal(fetch.nextOffset, 10);
  });

  it('does not take a record whose key is four zero bytes for the end of an aborted transaction', () => {
    const messages = [
      record(0, '1', Buffer.alloc(4)),
      record(1, '1'),
      marker(2, '1', 'abort'),
      record(3, '1'),
      marker(4, '1', 'commit'),
    ];
    const fetch = new PartitionFetch(
      't',
      '0',
      data(messages, { abortedTransactions: [{ producerId: '1', firstOffset: '0' }] }, 5),
    );
    assert.deepEqual(offsets(fetch), [3]);
  });

  it('hides an aborted transaction whose first record is no longer in the log', () => {
    const messages = [record(5, '1'), marker(6, '1', 'abort'), record(7, '1')];
    const fetch = new PartitionFetch(
      't',
      '5',
      data(messages, { abortedTransactions: [{ producerId: '1', firstOffset: '2' }] }, 8),
    );
    assert.deepEqual(offsets(fetch), [7]);
  });

  it('leaves out records before the offset asked for', () => {
    const fetch = new PartitionFetch('t', '12', data([record(10), record(11), record(12), record(13)], {}, 14));
    assert.deepEqual(offsets(fetch), [12, 13]);
    assert.equal(fetch.fetchOffset, 12);
  });

  it('passes a batch whose last records were compacted away, and one that is empty', () => {
    assert.equal(new PartitionFetch('t', '5', data([record(5)], {}, 9)).nextOffset, 9);
    const empty = new PartitionFetch('t', '5', data([], {}, 9));
    assert.equal(empty.nextOffset, 9);
    assert.equal(empty.isEmpty(), false);
    assert.equal(empty.lastOffset(), '8');
  });

  it('is empty when the partition had nothing new', () => {
    const fetch = new PartitionFetch('t', '90', data([]));
    assert.equal(fetch.isEmpty(), true);
    assert.equal(fetch.nextOffset, 90);
  });

  it('never moves back', () => {
    assert.equal(new PartitionFetch('t', '20', data([record(10)], {}, 11)).nextOffset, 20);
  });

  it('becomes the batch that the engine reads', async () => {
    const batch = toFetchedBatch('source', new PartitionFetch('t', '5', data([record(5), record(6)], {}, 8)));
    assert.equal(batch.stream, 'source');
    assert.deepEqual([batch.partition, batch.fetchOffset, batch.nextOffset, batch.endOffset, batch.bytes], [3, 5, 8, 90, 4]);
    const pieces = [];
    for await (const piece of batch.pieces(async () => () => undefined)) pieces.push(piece);
    assert.deepEqual(pieces[0]?.records[1], {
      partition: 3,
      offset: 6,
      timestampMs: 7,
      key: null,
      value: Buffer.from('v6'),
      headers: [],
    });
  });
});

describe('offsets', () => {
  it('beyond what a number holds exactly are refused', () => {
    assert.equal(toOffset('9007199254740991'), 2 ** 53 - 1);
    for (const text of ['9007199254740993', '-1', '', 'x', '1.5']) {
      if (text === '') continue;
      assert.throws(() => toOffset(text), RangeError, text);
    }
    const fetch = new PartitionFetch('t', '9007199254740990', data([record(5)], {}, 2 ** 53 + 2));
    assert.throws(() => toFetchedBatch('source', fetch), RangeError);
  });

  it('limit the records taken', () => {
    assert.equal(toRecords(new PartitionFetch('t', '0', data([record(0), record(1), record(2)], {}, 3)), 1).length, 2);
  });
});
