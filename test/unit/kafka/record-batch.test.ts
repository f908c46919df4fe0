import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MeasuredRecord } from '../../../src/kafka/record-batch.ts';

test('long header names, which a producer may have made up, are not remembered', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const held = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const before = held();
  for (let n = 0; n < 100; n++) new MeasuredRecord({ headers: [[`${n} ${'n'.repeat(500_000)}`, 'x']] });
  assert.ok(held() - before < 5_000_000);
});
