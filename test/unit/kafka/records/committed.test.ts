import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TRANSACTIONAL, writeBatch, writeMarker } from '../../../support/kafka/record-batches.ts';
import { readAll } from '../../../support/records/read-pieces.ts';

const NONE = -1n;
const batch = (baseOffset: number, producerId = NONE, key: Buffer | null = null) =>
  writeBatch({
    baseOffset,
    producerId,
    attributes: producerId === NONE ? 0 : TRANSACTIONAL,
    records: [{ key }],
  });

describe('a read_committed reader', () => {
  it('hides interleaved aborted transactions of several producers, in whatever order the broker lists them', async () => {
    const log = [
      batch(0, 1n),
      batch(1, 2n),
      batch(2),
      batch(3, 3n),
      writeMarker(4, 2n, 'abort'),
      batch(5, 2n),
      batch(6, 1n),
      writeMarker(7, 1n, 'abort'),
      writeMarker(8, 3n, 'commit'),
      writeMarker(9, 2n, 'commit'),
    ];
    const aborted = [
      { producerId: '2', firstOffset: '1' },
      { producerId: '1', firstOffset: '0' },
    ];
    const read = await readAll(log, { aborted });
    assert.deepEqual(read.offsets, [2, 3, 5]);
    assert.equal(read.nextOffset, 10);
  });

  it('does not mistake a record whose key is four zero bytes for the end of an aborted transaction', async () => {
    const log = [
      batch(0, 1n, Buffer.alloc(4)),
      batch(1, 1n),
      writeMarker(2, 1n, 'abort'),
      batch(3, 1n),
      writeMarker(4, 1n, 'commit'),
    ];
    assert.deepEqual(
      (await readAll(log, { aborted: [{ producerId: '1', firstOffset: '0' }] })).offsets,
      [3],
    );
  });

  it('hides an aborted transaction whose first record is no longer in the log', async () => {
    const log = [batch(5, 1n), writeMarker(6, 1n, 'abort'), batch(7, 1n)];
    const read = await readAll(log, {
      fetchOffset: 5,
      aborted: [{ producerId: '1', firstOffset: '2' }],
    });
    assert.deepEqual(read.offsets, [7]);
  });
});
