import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { traceHeadersOf } from '../../../packages/client/src/base/tracing.ts';
import { TraceLinks, traceParentOf } from '../../../src/core/trace-context.ts';
import { headerList, type NamedHeaders } from '../../support/records/headers.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const header = (traceparent: NamedHeaders[string]) => headerList({ traceparent });

test('a valid traceparent gives its trace and span, as a string or bytes; the last of several is used', () => {
  const expected = { traceId: TRACE, spanId: SPAN, flags: 1 };
  const text = `00-${TRACE}-${SPAN}-01`;
  assert.deepEqual(traceParentOf(header(text)), expected);
  assert.deepEqual(traceParentOf(header(Buffer.from(text))), expected);
  assert.deepEqual(traceParentOf(header([null, 'nothing', text])), expected);
  assert.equal(traceParentOf(header([text, 'nothing'])), undefined);
  assert.equal(traceParentOf(header([text, null])), undefined);
});

test('invalid traceparents are ignored: version ff, zeros, upper case, other lengths, other names', () => {
  for (const text of [
    '',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-01\n`,
    ` 00-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01-${'x'.repeat(600)}`,
  ]) {
    assert.equal(traceParentOf(header(text)), undefined, JSON.stringify(text));
  }
  assert.equal(traceParentOf([['Traceparent', `00-${TRACE}-${SPAN}-01`]]), undefined);
  assert.equal(traceParentOf([]), undefined);
});

test('no headers cause an exception, and every result is well-formed', () => {
  const texts = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'0123456789abcdef-') }));
  const value = fc.oneof(
    texts,
    fc.uint8Array().map(Buffer.from),
    fc.array(fc.option(texts)),
    fc.constant(null),
  );
  fc.assert(
    fc.property(value, value, (traceparent, tracestate) => {
      const found = traceParentOf(headerList({ traceparent, tracestate }));
      if (found === undefined) return;
      assert.match(found.traceId, /^[\da-f]{32}$/);
      assert.match(found.spanId, /^[\da-f]{16}$/);
      assert.ok(found.flags >= 0 && found.flags <= 255);
    }),
  );
});

test('links contain each span once, up to a limit', () => {
  const item = (n: number) => ({
    headers: header(`00-${TRACE}-${n.toString(16).padStart(16, '0')}-01`),
  });
  const items = [
    item(1),
    { headers: [] },
    item(1),
    item(2),
    item(3),
    item(2),
    { headers: header('broken') },
  ];
  const all = new TraceLinks(2);
  for (const { headers } of items) all.add(headers);
  assert.deepEqual(
    all.links.map(({ spanId }) => spanId),
    ['0000000000000001', '0000000000000002'],
  );
});

test('the headers of any context are read back as the same context', () => {
  const hex = (digits: number) =>
    fc.bigInt(1n, 16n ** BigInt(digits) - 1n).map((id) => id.toString(16).padStart(digits, '0'));
  fc.assert(
    fc.property(fc.record({ traceId: hex(32), spanId: hex(16), flags: fc.nat(255) }), (context) => {
      assert.deepEqual(traceParentOf(headerList(traceHeadersOf(context))), { ...context });
    }),
  );
});
