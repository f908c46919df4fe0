import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonTextOf } from '../../../packages/client/src/base/json/json-text.ts';
import { type BatchLimits, ItemBuffers } from '../../../src/core/batch-buffer.ts';
import type { RowSink } from '../../../src/core/bytes/row-sink.ts';
import { ItemBatch } from '../../../src/core/item-batch.ts';
import { OffsetSet } from '../../../src/core/offset-set.ts';
import type { Lease } from '../../../src/core/ports/memory.ts';
import type { ContentItem, SourceCoordinate } from '../../../src/core/record.ts';

/** Content of an item whose row cannot be encoded. */
const BROKEN = jsonTextOf('broken');
/** Memory of a batch without rows and coordinates. */
const EMPTY_BYTES = 1024;
const WIDE: BatchLimits = {
  maxRows: 1_000_000,
  maxBytes: 1_000_000_000,
  maxAgeMs: 60_000,
  maxOffsetBytes: 1_000_000_000,
};

function item(offset: number, more: Partial<ContentItem> = {}): ContentItem {
  const record = {
    partition: 0,
    offset,
    timestampMs: 1_000 + offset,
    key: null,
    headers: [],
    type: 'a',
    content: jsonTextOf(''),
    metadata: jsonTextOf({}),
  };
  return { ...record, expected: undefined, replay: 0, bytes: 10, ...more };
}

const idOf = ({ partition, offset }: SourceCoordinate): string => `${partition}:${offset}`;

function leaseOf(): Lease {
  return {
    bytes: 0,
    resize(bytes) {
      Object.assign(this, { bytes });
    },
    seal() {},
    [Symbol.dispose]() {
      this.resize(0);
    },
  };
}

/** Buffers whose rows have the size of their items. @param fails true for items whose row cannot be encoded */
function buffersOf(
  limitsOf: (type: string) => BatchLimits,
  fails: (item: ContentItem) => boolean = () => false,
) {
  const sinks = new Set<RowSink>();
  const seals = new Map<ItemBatch, () => void>();
  const open = (type: string, seal: () => void): ItemBatch => {
    const sink = {
      heldBytes: 0,
      add(one: ContentItem) {
        if (fails(one)) throw new TypeError('no row');
        sink.heldBytes += one.bytes;
      },
      finish: () => assert.fail('nobody uploads'),
      release: () => sinks.delete(sink),
    };
    sinks.add(sink);
    const batch = new ItemBatch(type, sink, undefined, leaseOf());
    seals.set(batch, seal);
    return batch;
  };
  const sealed: ItemBatch[] = [];
  const buffers = new ItemBuffers(limitsOf, open, (batch) => sealed.push(batch));
  return { buffers, seals, sealed, sinks };
}

const heldBytes = ({ batches }: ItemBuffers): number =>
  Array.from(batches).reduce((sum, batch) => sum + batch.heldBytes, 0);

/** Number of waiting items. */
const sizeOf = ({ batches }: ItemBuffers): number =>
  Array.from(batches).reduce((sum, { length }) => sum + length, 0);

test('no item is lost or duplicated and batches keep their limits, for any items and failures', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('add' as const),
        type: fc.constantFrom('a', 'b', 'c'),
        bytes: fc.integer({ min: 0, max: 120 }),
        partition: fc.nat({ max: 2 }),
        agoMs: fc.nat({ max: 500 }),
        broken: fc.nat({ max: 9 }).map((n) => n === 0),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('age' as const), ms: fc.nat({ max: 600 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('relieve' as const),
        type: fc.constantFrom('a', 'b', 'c'),
      }),
    },
  );
  const limits = fc.record({
    maxRows: fc.integer({ min: 1, max: 8 }),
    maxBytes: fc.integer({ min: 1, max: 300 }),
    maxAgeMs: fc.integer({ min: 1, max: 1000 }),
    maxOffsetBytes: fc.constant(1_000_000),
  });
  const byType = fc.record({ a: limits, b: limits, c: limits });
  fc.assert(
    fc.property(byType, fc.array(step, { maxLength: 120, size: 'max' }), (bounds, steps) => {
      const limitsOf = (type: string) => bounds[type as keyof typeof bounds];
      const { buffers, seals, sealed, sinks } = buffersOf(
        limitsOf,
        ({ content }) => content === BROKEN,
      );
      /** Waiting items by type, with the start of their age. */
      const waiting = new Map<string, { item: ContentItem; sinceMs: number }[]>();
      const bytesOf = (type: string) =>
        (waiting.get(type) ?? []).reduce((sum, one) => sum + one.item.bytes, 0);
      const dueMs = ([type, items]: [string, { sinceMs: number }[]]) =>
        Math.min(...items.map(({ sinceMs }) => sinceMs)) + limitsOf(type).maxAgeMs;
      const take = (batch: ItemBatch) => {
        const expected = waiting.get(batch.type) ?? [];
        const { maxBytes, maxRows } = limitsOf(batch.type);
        const items = expected.map((one) => one.item);
        waiting.delete(batch.type);
        assert.deepEqual([...batch.records].map(idOf).sort(), items.map(idOf).sort());
        assert.equal(
          batch.bytes,
          items.reduce((sum, one) => sum + one.bytes, 0),
        );
        assert.equal(batch.sink.heldBytes, batch.bytes);
        assert.equal(batch.sinceMs, Math.min(...expected.map((one) => one.sinceMs)));
        const times = items.map(({ timestampMs }) => timestampMs);
        assert.deepEqual(
          [batch.records.oldestMs, batch.records.newestMs],
          [Math.min(...times), Math.max(...times)],
        );
        assert.ok(batch.length > 0 && batch.length <= maxRows);
        assert.ok(
          batch.bytes <= maxBytes || batch.length === 1,
          'only a single item may exceed the limit',
        );
        batch[Symbol.dispose]();
      };
      let nowMs = 10_000;
      let offset = 0;
      for (const one of steps) {
        if (one.do === 'add') {
          const { type, bytes, partition } = one;
          const added = item(offset++, { type, bytes, partition });
          const overflows = waiting.has(type) && bytesOf(type) + bytes > limitsOf(type).maxBytes;
          if (one.broken) {
            assert.throws(
              () => buffers.add({ ...added, content: BROKEN }, nowMs - one.agoMs),
              /no row/,
            );
            continue;
          }
          buffers.add(added, nowMs - one.agoMs);
          const entry = { item: added, sinceMs: nowMs - one.agoMs };
          if (overflows) {
            // The waiting items are sealed; the new item begins the next batch.
            take(sealed.shift() as ItemBatch);
            waiting.set(type, [entry]);
          } else waiting.set(type, [...(waiting.get(type) ?? []), entry]);
          if (waiting.get(type)?.length === limitsOf(type).maxRows)
            take(sealed.shift() as ItemBatch);
        } else if (one.do === 'age') {
          nowMs += one.ms;
          const due = [...waiting].filter((one) => nowMs >= dueMs(one));
          buffers.sealAged(nowMs);
          assert.deepEqual(sealed.map(({ type }) => type).sort(), due.map(([type]) => type).sort());
          for (const batch of sealed.splice(0)) take(batch);
        } else {
          const open = [...buffers.batches].find(({ type }) => type === one.type);
          if (open === undefined) continue;
          seals.get(open)?.();
          take(sealed.shift() as ItemBatch);
        }
        assert.equal(sealed.length, 0);
        const all = [...waiting.values()].flat();
        assert.deepEqual([sizeOf(buffers), sinks.size], [all.length, waiting.size]);
        const bytes = [...waiting.keys()].reduce((sum, type) => sum + bytesOf(type), 0);
        const coordinates = Array.from(buffers.batches).reduce(
          (sum, { records }) => sum + records.heldBytes,
          0,
        );
        assert.equal(heldBytes(buffers), bytes + coordinates + waiting.size * EMPTY_BYTES);
        assert.equal(buffers.nextDueMs, Math.min(...[...waiting].map(dueMs)));
        const oldest = Math.min(
          ...[...waiting.values()].map(
            ([first]) => first?.item.timestampMs ?? Number.POSITIVE_INFINITY,
          ),
        );
        const timesMs = Array.from(buffers.batches, ({ records }) => records.oldestMs);
        assert.equal(Math.min(Number.POSITIVE_INFINITY, ...timesMs), oldest);
      }
      buffers[Symbol.dispose]();
      assert.deepEqual([sinks.size, sizeOf(buffers), sealed.length], [0, 0, 0]);
    }),
    { numRuns: 200 },
  );
});

test('a batch of widely spread offsets is sealed before their encoding exceeds its limit', () => {
  const limit = 16 * 1024;
  const { buffers, sealed } = buffersOf(() => ({ ...WIDE, maxOffsetBytes: limit }));
  for (let added = 0; sealed.length === 0 && added < 100_000; added++)
    buffers.add(item(added * 1_003), 0);
  // The size is estimated every 1,024 items; the estimate is an upper bound.
  const { records } = sealed[0] as ItemBatch;
  const encoded = OffsetSet.of(Array.from(records, ({ offset }) => offset)).encode().length;
  assert.ok(encoded >= limit / 2 && encoded <= limit + 1024 * 8, `${encoded} bytes`);
  assert.equal(sizeOf(buffers), 0);
});
