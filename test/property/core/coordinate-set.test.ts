import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  BatchRecords,
  CoordinateSet,
  type JobRecord,
  LiveJob,
  sourcesOf,
} from '../../../src/core/journal/job.ts';
import { OffsetSet } from '../../../src/core/offset-set.ts';

const at = fc.record(
  { partition: fc.nat({ max: 3 }), offset: fc.nat({ max: 40 }) },
  { noNullPrototype: true },
);
const byPlace = (
  a: { partition: number; offset: number },
  b: { partition: number; offset: number },
) => a.partition - b.partition || a.offset - b.offset;

test('a set of coordinates behaves like a set of pairs in any history', () => {
  // Draws few coordinates, so that partitions often become empty.
  const few = fc.record(
    { partition: fc.nat({ max: 2 }), offset: fc.nat({ max: 3 }) },
    { noNullPrototype: true },
  );
  const step = fc.record({ at: few, do: fc.constantFrom('add' as const, 'delete' as const) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      const set = new CoordinateSet();
      const model = new Map<string, { partition: number; offset: number }>();
      for (const { at: place, do: what } of steps) {
        const id = `${place.partition}:${place.offset}`;
        if (what === 'add') {
          assert.equal(set.add(place.partition, place.offset), !model.has(id));
          model.set(id, place);
        } else assert.equal(set.delete(place.partition, place.offset), model.delete(id));
        assert.equal(set.size, model.size);
        assert.equal(set.has(place.partition, place.offset), model.has(id));
      }
      const sorted = [...model.values()].sort(byPlace);
      assert.deepEqual([...set], sorted);
      assert.deepEqual([...CoordinateSet.of(sorted)], sorted);
      // Partitions are ascending, and each has offsets: a journal record contains no empty partition.
      const partitions = set.entries().map(([partition]) => partition);
      assert.deepEqual(partitions, [...new Set(sorted.map(({ partition }) => partition))]);
      for (const [, offsets] of set.entries()) assert.ok(offsets.size > 0);
    }),
  );
});

const items = fc.uniqueArray(at, {
  maxLength: 40,
  size: 'max',
  selector: ({ partition, offset }) => `${partition}:${offset}`,
});

test('the sources of a job record are exactly its items, with the replay count of each partition', () => {
  fc.assert(
    fc.property(
      items,
      fc.array(fc.nat({ max: 5 }), { minLength: 4, maxLength: 4 }),
      (places, replays) => {
        const sources = sourcesOf(
          CoordinateSet.of(places),
          (partition) => replays[partition] as number,
        );
        const record = jobRecord(sources);
        const sorted = [...places].sort(byPlace);
        const decoded = record.sources.map(
          ({ partition, offsets }) => [partition, OffsetSet.decode(offsets)] as const,
        );
        assert.deepEqual([...CoordinateSet.fromSets(decoded)], sorted);
        assert.deepEqual(
          sources.map(({ partition }) => partition),
          [...new Set(sorted.map(({ partition }) => partition))],
        );
        const job = new LiveJob(record, CoordinateSet.of([]));
        for (let partition = 0; partition < 4; partition++) {
          const named = sorted.filter((place) => place.partition === partition);
          assert.equal(job.replayOf(partition), named.length > 0 ? replays[partition] : 0);
        }
      },
    ),
  );
});

test('the records of a batch are its coordinates, with the timestamps of the oldest, the newest and the last record of each partition', () => {
  const timed = fc.uniqueArray(
    fc.record({
      partition: fc.nat({ max: 3 }),
      offset: fc.oneof(fc.nat({ max: 40 }), fc.nat({ max: 2 ** 53 - 2 })),
      timestampMs: fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER }),
    }),
    { maxLength: 40, selector: ({ partition, offset }) => `${partition}:${offset}` },
  );
  fc.assert(
    fc.property(timed, (places) => {
      const records = new BatchRecords(places);
      const sorted = [...places].sort(byPlace);
      const isLast = ({ partition }: { partition: number }, index: number) =>
        sorted[index + 1]?.partition !== partition;
      assert.deepEqual(
        [...records],
        sorted.map(({ partition, offset }) => ({ partition, offset })),
      );
      assert.deepEqual(
        [...records.last].sort(byPlace),
        sorted.filter(isLast).map((one) => ({ ...one })),
      );
      assert.equal(records.size, places.length);
      const times = places.map(({ timestampMs }) => timestampMs);
      assert.deepEqual(
        [records.oldestMs, records.newestMs],
        [Math.min(...times), Math.max(...times)],
      );
      const encoded = sourcesOf(records, () => 0).map(({ offsets }) => offsets.length);
      const bytes = encoded.reduce((sum, length) => sum + length, 0);
      assert.ok(bytes <= records.encodedBytes + 4 * encoded.length);
      assert.ok(records.heldBytes >= bytes / 4);
    }),
  );
});

function jobRecord(sources: JobRecord['sources']): JobRecord {
  const line = {
    remoteId: 'r',
    kind: 'k',
    type: 't',
    attempt: 1,
    depth: 0,
    spent: 1,
    root: 'j',
    sequence: 1,
  };
  return {
    id: 'j',
    ...line,
    count: 1,
    bytes: 1,
    createdMs: 0,
    oldestEventMs: 0,
    newestEventMs: 0,
    sources,
  };
}
