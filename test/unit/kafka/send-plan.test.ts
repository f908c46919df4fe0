import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordBytes } from '../../../src/core/outgoing-bytes.ts';
import { partitionOf } from '../../../src/kafka/partitioner.ts';
import { MAX_SEND_BYTES, planSends, sendBytesFor, splitBySize } from '../../../src/kafka/send-plan.ts';
import { headerList } from '../../support/headers.ts';

describe('sends of a transaction', () => {
  it('go to one partition each', () => {
    const records = Array.from({ length: 500 }, (_, n) => ({ key: `key-${n}`, value: 'x' }));
    const sends = planSends(records, 8, 0);
    assert.equal(sends.length, 8);
    for (const { partition, messages } of sends) {
      for (const message of messages) {
        assert.equal(message.partition, partition);
        assert.equal(partitionOf(message.key as string, 8), partition);
      }
    }
  });

  it('carry every record once, in order within its partition', () => {
    const records = Array.from({ length: 300 }, (_, n) => ({ key: `key-${n % 9}`, value: String(n) }));
    const sent = planSends(records, 4, 0, 1_000).flatMap(({ messages }) => messages);
    assert.equal(sent.length, records.length);
    for (let key = 0; key < 9; key++) {
      const values = sent.filter((message) => String(message.key) === `key-${key}`).map(({ value }) => Number(value));
      assert.deepEqual(
        values,
        [...values].sort((a, b) => a - b),
      );
    }
  });

  it('put all records without a key into the partition chosen for this transaction', () => {
    const sends = planSends(
      [1, 2, 3].map((n) => ({ key: null, value: String(n) })),
      6,
      4,
    );
    assert.deepEqual(
      sends.map(({ partition, messages }) => [partition, messages.length]),
      [[4, 3]],
    );
  });

  it('stay below the size limit, as the broker counts it', () => {
    const records = Array.from({ length: 100 }, () => ({ key: 'k', value: Buffer.alloc(50_000) }));
    const sends = splitBySize(records, 0);
    assert.ok(sends.length >= 6);
    for (const { messages } of sends) {
      const bytes = messages.reduce((sum, { key, value }) => sum + recordBytes({ key: key ?? null, value }), 0);
      assert.ok(bytes <= MAX_SEND_BYTES);
    }
  });

  it('fit into batches that their topic takes, and are no larger where it takes more or its limit is not known', () => {
    const bytes = [100_000, 1, 10_000_000, 0, Number.NaN, undefined].map(sendBytesFor);
    assert.ok(bytes[0] !== undefined && bytes[0] < 100_000 && bytes[0] > 99_000, `${bytes[0]} bytes`);
    assert.deepEqual(bytes.slice(1), [1, MAX_SEND_BYTES, MAX_SEND_BYTES, MAX_SEND_BYTES, MAX_SEND_BYTES]);
  });

  it('carry a record larger than the limit alone', () => {
    const sizes = [10, 2_000_000, 10, 10];
    const sends = splitBySize(
      sizes.map((size) => ({ key: 'k', value: Buffer.alloc(size) })),
      3,
    );
    assert.deepEqual(
      sends.map(({ messages }) => messages.length),
      [1, 1, 2],
    );
  });

  it('count bytes and not characters, and headers too, whatever their names', () => {
    const plain = recordBytes({ key: 'k', value: 'ä'.repeat(100) });
    assert.ok(plain >= 201);
    const many = recordBytes({
      key: null,
      value: null,
      headers: headerList({ h: [Buffer.alloc(1_000), 'x'.repeat(1_000)], none: null, toString: 'x'.repeat(1_000) }),
    });
    assert.ok(many >= 3_000 && many <= 3_200, `${many} bytes`);
  });
});
