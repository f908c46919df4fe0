import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { traceHeadersOf } from '../../../packages/client/src/base/tracing.ts';
import { traceParentOf } from '../../../src/core/trace-context.ts';
import { headerList } from '../../support/records/headers.ts';

const hex = (digits: number) =>
  fc.bigInt(1n, 16n ** BigInt(digits) - 1n).map((id) => id.toString(16).padStart(digits, '0'));

test('headers of any context are read as the same context', () => {
  fc.assert(
    fc.property(fc.record({ traceId: hex(32), spanId: hex(16), flags: fc.nat(255) }), (context) => {
      const headers = traceHeadersOf(context);
      assert.deepEqual(traceParentOf(headerList(headers)), { ...context });
    }),
  );
});
