import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { murmur2, partitionOfHash } from '../../../../src/kafka/producer/send-plan.ts';

describe('partition of a key', () => {
  it("hashes as Kafka's own tests want it (org.apache.kafka.common.utils.UtilsTest)", () => {
    const known: Record<string, number> = {
      '21': -973932308,
      foobar: -790332482,
      'a-little-bit-long-string': -985981536,
      'a-little-bit-longer-string': -1486304829,
      lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8: -58897971,
      abc: 479470107,
    };
    for (const [text, hash] of Object.entries(known))
      assert.equal(murmur2(Buffer.from(text)), hash, text);
  });

  it('is never negative', () => {
    for (const hash of [-1, -(2 ** 31), 2 ** 31 - 1, 0]) {
      const partition = partitionOfHash(hash, 7);
      assert.ok(partition >= 0 && partition < 7, `${hash}`);
    }
  });
});
