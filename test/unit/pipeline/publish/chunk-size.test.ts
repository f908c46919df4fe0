import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TerminalRecords } from '../../../../src/core/bytes/encoded-records.ts';
import { TransactionError, type TransactionFailure } from '../../../../src/core/ports/kafka.ts';
import { ChunkSize } from '../../../../src/pipeline/context/terminal-writer.ts';
import { columnsOf } from '../../../support/records/coordinates.ts';
import { headerList } from '../../../support/records/headers.ts';

const records = (count: number) =>
  columnsOf(Array.from({ length: count }, (_, offset) => ({ partition: 2, offset })));
const failure = (kind: TransactionFailure) => new TransactionError(kind, 'no');

const limited = (maxRows: number) => new ChunkSize({ maxRows, maxBytes: Number.POSITIVE_INFINITY });

/** Number of records make a chunk full now. */
function rowsOf(chunk: ChunkSize): number {
  let rows = 1;
  while (!chunk.isFull(rows, 0)) rows++;
  return rows;
}

test('a failed transaction halves the next ones, down to a single record; each success doubles them up to the maximum', () => {
  const chunk = limited(100);
  const sizes: number[] = [rowsOf(chunk)];
  for (const size of [100, 50, 25, 12, 6, 3, 1, 1]) {
    chunk.failed(records(size), failure('fenced'));
    sizes.push(rowsOf(chunk));
  }
  assert.deepEqual(sizes, [100, 50, 25, 12, 6, 3, 1, 1, 1]);
  for (let n = 0; n < 8; n++) chunk.succeeded();
  assert.equal(rowsOf(chunk), 100);
});

test('chunks are bounded by rows and by the bytes of their encoded records; what was learnt meanwhile counts', () => {
  const size = new ChunkSize({ maxRows: 4, maxBytes: 100 });
  const record = (bytes: number) => ({
    key: Buffer.alloc(1),
    // The rest is key, headers and lengths; that of a value of 64 bytes and more takes two.
    value: 'v'.repeat(bytes - (bytes > 82 ? 20 : 19)),
    headers: headerList({ a: 'x', b: ['y', null, Buffer.alloc(1)] }),
  });
  const chunk = new TerminalRecords();
  const sizes: number[] = [];
  let sum = 0;
  const publish = () => {
    assert.equal(chunk.records.bytes, sum);
    sizes.push(chunk.length);
    if (sizes.length === 3) size.failed(chunk, failure('fenced'));
    chunk.clear();
    sum = 0;
  };
  for (const bytes of [20, 20, 20, 20, 81, 20, 100, 20, 20, 20, 20]) {
    chunk.add({ partition: 0, offset: sizes.length }, record(bytes));
    sum += bytes;
    if (size.isFull(chunk.length, chunk.records.bytes)) publish();
  }
  assert.equal(chunk.length, 0);
  assert.deepEqual(sizes, [4, 2, 1, 1, 1, 1, 1]);
});
