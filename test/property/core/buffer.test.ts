import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type BatchLimits, ItemBuffers, type SealedItems } from '../../../src/core/buffer.ts';
import { OffsetSet } from '../../../src/core/offset-set.ts';
import type { ContentItem } from '../../../src/core/record.ts';

const WIDE: BatchLimits = { maxRows: 1_000_000, maxBytes: 1_000_000_000, maxAgeMs: 60_000, maxOffsetBytes: 1_000_000_000 };

function item(offset: number, more: Partial<ContentItem> = {}): ContentItem {
  const record = {
    partition: 0,
    offset,
    timestampMs: 1_000 + offset,
    key: null,
    headers: [],
    type: 'a',
    content: '',
    metadata: {},
  };
  return { ...record, expected: undefined, replay: 0, bytes: 10, ...more };
}

const idOf = ({ partition, offset }: ContentItem): string => `${partition}:${offset}`;

test('nothing is lost and nothing doubled, batches keep their limits and their order, whatever is added', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('add' as const),
        type: fc.constantFrom('a', 'b', 'c'),
        bytes: fc.integer({ min: 0, max: 120 }),
        partition: fc.nat({ max: 2 }),
        agoMs: fc.nat({ max: 500 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('age' as const), ms: fc.nat({ max: 600 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('relieve' as const) }) },
  );
  const limits = fc.record({
    maxRows: fc.integer({ min: 1, max: 8 }),
    maxBytes: fc.integer({ min: 1, max: 300 }),
    maxAgeMs: fc.integer({ min: 1, max: 1000 }),
    maxOffsetBytes: fc.constant(1_000_000),
  });
  fc.assert(
    fc.property(limits, fc.array(step, { maxLength: 120, size: 'max' }), (bounds, steps) => {
      const buffers = new ItemBuffers(bounds);
      /** Waiting items with the time their age counts from, by type. */
      const waiting = new Map<string, { item: ContentItem; sinceMs: number }[]>();
      const bytesOf = (type: string) => (waiting.get(type) ?? []).reduce((sum, one) => sum + one.item.bytes, 0);
      const take = (sealed: SealedItems) => {
        const expected = waiting.get(sealed.type) ?? [];
        waiting.delete(sealed.type);
        assert.deepEqual(
          sealed.items.map(idOf),
          expected.map((one) => idOf(one.item)),
        );
        assert.equal(
          sealed.bytes,
          sealed.items.reduce((sum, one) => sum + one.bytes, 0),
        );
        assert.equal(sealed.sinceMs, Math.min(...expected.map((one) => one.sinceMs)));
        assert.ok(sealed.items.length > 0 && sealed.items.length <= bounds.maxRows);
        assert.ok(sealed.bytes <= bounds.maxBytes || sealed.items.length === 1, 'only an item alone may be larger than a batch');
        assert.ok(sealed.items.every(({ type }) => type === sealed.type));
      };
      let nowMs = 10_000;
      let offset = 0;
      for (const one of steps) {
        if (one.do === 'add') {
          const { type, bytes, partition } = one;
          const added = item(offset++, { type, bytes, partition });
          const overflows = waiting.has(type) && bytesOf(type) + bytes > bounds.maxBytes;
          const sealed = buffers.add(added, nowMs - one.agoMs);
          const entry = { item: added, sinceMs: nowMs - one.agoMs };
          if (overflows) {
            // What was there before goes; the new item begins the next batch.
            assert.equal(sealed?.reason, 'bytes');
            take(sealed as SealedItems);
            waiting.set(type, [entry]);
          } else {
            waiting.set(type, [...(waiting.get(type) ?? []), entry]);
            const full = waiting.get(type)?.length === bounds.maxRows;
            assert.equal(sealed?.reason, full ? 'rows' : undefined);
            if (sealed !== undefined) take(sealed);
          }
        } else if (one.do === 'age') {
          nowMs += one.ms;
          const due = [...waiting].filter(
            ([, items]) => nowMs >= Math.min(...items.map(({ sinceMs }) => sinceMs)) + bounds.maxAgeMs,
          );
          const sealed = buffers.sealAged(nowMs);
          assert.deepEqual(sealed.map(({ type }) => type).sort(), due.map(([type]) => type).sort());
          for (const batch of sealed) {
            assert.equal(batch.reason, 'age');
            take(batch);
          }
        } else {
          const largest = Math.max(0, ...[...waiting.keys()].map(bytesOf));
          assert.equal(buffers.largestBytes, largest);
          const sealed = buffers.sealLargest();
          assert.equal(sealed === undefined, waiting.size === 0);
          if (sealed === undefined) continue;
          assert.equal(sealed.reason, 'memory');
          assert.equal(sealed.bytes, largest);
          take(sealed);
        }
        const all = [...waiting.values()].flat();
        assert.equal(buffers.size, all.length);
        assert.equal(buffers.nextDueMs, Math.min(...all.map(({ sinceMs }) => sinceMs)) + bounds.maxAgeMs);
        const oldest = Math.min(...[...waiting.values()].map(([first]) => first?.item.timestampMs ?? Number.POSITIVE_INFINITY));
        assert.equal(buffers.oldestEventMs, oldest);
      }
    }),
    { numRuns: 200 },
  );
});

test('a buffer seals at exactly its rows, and types do not count for each other', () => {
  const buffers = new ItemBuffers({ ...WIDE, maxRows: 3 });
  assert.equal(buffers.add(item(0), 0), undefined);
  assert.equal(buffers.add(item(1), 0), undefined);
  assert.equal(buffers.add(item(2, { type: 'b' }), 0), undefined);
  const sealed = buffers.add(item(3), 0);
  assert.deepEqual([sealed?.reason, sealed?.items.map(({ offset }) => offset)], ['rows', [0, 1, 3]]);
  assert.equal(buffers.size, 1);
});

test('a batch may be exactly as large as its limit; one byte more begins the next', () => {
  const buffers = new ItemBuffers({ ...WIDE, maxBytes: 20 });
  buffers.add(item(0), 0);
  assert.equal(buffers.add(item(1), 0), undefined);
  const sealed = buffers.add(item(2, { bytes: 1 }), 0);
  assert.deepEqual([sealed?.reason, sealed?.bytes, buffers.size], ['bytes', 20, 1]);
});

test('age counts from the oldest item, to the millisecond', () => {
  const buffers = new ItemBuffers({ ...WIDE, maxAgeMs: 500 });
  buffers.add(item(0), 1_000);
  buffers.add(item(1), 900);
  buffers.add(item(2), 1_100);
  assert.equal(buffers.nextDueMs, 1_400);
  assert.deepEqual(buffers.sealAged(1_399), []);
  assert.deepEqual(
    buffers.sealAged(1_400).map(({ items, sinceMs, reason }) => [items.length, sinceMs, reason]),
    [[3, 900, 'age']],
  );
  assert.equal(buffers.nextDueMs, Number.POSITIVE_INFINITY);
});

test('a batch whose offsets lie far apart seals before their encoding passes its limit', () => {
  const limit = 16 * 1024;
  const buffers = new ItemBuffers({ ...WIDE, maxOffsetBytes: limit });
  let sealed: SealedItems | undefined;
  let added = 0;
  while (sealed === undefined && added < 100_000) sealed = buffers.add(item(added++ * 1_003), 0);
  assert.equal(sealed?.reason, 'offsets');
  // It is looked at once in 1024 items, and the estimate is an upper bound.
  const encoded = OffsetSet.of((sealed as SealedItems).items.map(({ offset }) => offset)).encode().length;
  assert.ok(encoded >= limit / 2 && encoded <= limit + 1024 * 8, `${encoded} bytes`);
  assert.equal(buffers.size, 0);
});

test('offsets side by side never seal a buffer, however many there are', () => {
  const buffers = new ItemBuffers({ ...WIDE, maxOffsetBytes: 16 * 1024 });
  for (let offset = 0; offset < 50_000; offset++) assert.equal(buffers.add(item(offset), 0), undefined);
  assert.equal(buffers.size, 50_000);
});
