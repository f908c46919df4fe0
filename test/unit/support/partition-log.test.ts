import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PartitionLog } from '../../support/memory/kafka/partition-log.ts';
import { headerList } from '../../support/records/headers.ts';

const record = (name: string, value: string | null = name) => ({ key: name, value });
const keysOf = (log: PartitionLog) => log.committed().map(({ key }) => String(key));
const offsetsOf = (log: PartitionLog) => log.committed().map(({ offset }) => offset);

test('an open transaction hides itself and everything after it; markers take an offset', () => {
  const log = new PartitionLog(0, () => {});
  log.append([record('plain')], 0);
  assert.equal(log.append([record('a'), record('b')], 0, 1), 1);
  log.append([record('later')], 0);
  assert.deepEqual([log.stableEnd, log.end], [1, 4]);
  assert.deepEqual(keysOf(log), ['plain']);
  log.finish(1, 'commit', 0);
  assert.deepEqual([log.stableEnd, log.end], [5, 5]);
  assert.deepEqual(offsetsOf(log), [0, 1, 2, 3]);
  log.append([record('gone')], 0, 2);
  log.finish(2, 'abort', 0);
  assert.equal(log.append([record('end')], 0), 7);
  assert.deepEqual(offsetsOf(log), [0, 1, 2, 3, 7]);
  assert.deepEqual(log.read(4, 10), {
    ...log.read(4, 10),
    fetchOffset: 4,
    nextOffset: 8,
    endOffset: 8,
  });
});

test('a read out of range finds nothing, and says where the log starts', () => {
  const log = new PartitionLog(0, () => {});
  log.append([record('a'), record('b'), record('c')], 0);
  log.deleteBefore(2);
  const read = (from: number) => {
    const { records, fetchOffset, nextOffset } = log.read(from, 9);
    return [records.length, fetchOffset, nextOffset];
  };
  assert.deepEqual(
    [read(0), read(2), read(3), read(99)],
    [
      [0, 2, 2],
      [1, 2, 3],
      [0, 3, 3],
      [0, 99, 99],
    ],
  );
  assert.deepEqual(offsetsOf(log), [2]);
});

test('compaction keeps the last committed record of each key, and drops tombstones only when told', () => {
  const log = new PartitionLog(0, () => {});
  log.append([record('x', '1'), record('y', '1'), record('x', '2')], 0);
  log.append([record('y', 'aborted')], 0, 1);
  log.finish(1, 'abort', 0);
  log.append([record('x', null)], 0);
  log.append([record('z', 'open')], 0, 2);
  log.compact();
  assert.deepEqual(offsetsOf(log), [1, 5]);
  log.compact({ dropTombstones: true });
  assert.deepEqual(offsetsOf(log), [1]);
  log.finish(2, 'commit', 0);
  assert.deepEqual(offsetsOf(log), [1, 6]);
  assert.equal(log.end, 8);
});

test('what a caller does to its buffers later does not reach the log', () => {
  const log = new PartitionLog(0, () => {});
  const value = Buffer.from('before');
  log.append([{ key: null, value, headers: headerList({ h: [value, 'text', null] }) }], 0);
  value.fill('!');
  const [read] = log.committed();
  assert.equal(String(read?.value), 'before');
  assert.deepEqual(
    read?.headers,
    headerList({ h: [Buffer.from('before'), Buffer.from('text'), null] }),
  );
});

type Step =
  | { do: 'append'; transaction: number | undefined; count: number }
  | { do: 'finish'; transaction: number; outcome: 'commit' | 'abort' };
const transaction = fc.integer({ min: 1, max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('append' as const),
    transaction: fc.option(transaction, { nil: undefined }),
    count: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({
    do: fc.constant('finish' as const),
    transaction,
    outcome: fc.constantFrom('commit' as const, 'abort' as const),
  }),
);

test('a reader sees the committed records in order, once, whatever transactions did and however it reads', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }),
      (steps, sizes) => {
        const log = new PartitionLog(0, () => {});
        /** A plain model: every entry with its fate; a number of a transaction is used again after it ended. */
        const model: {
          data: boolean;
          fate: 'open' | 'commit' | 'abort';
          transaction: number | undefined;
        }[] = [];
        const seen: number[] = [];
        let position = 0;
        let fetches = 0;
        const readOn = () => {
          const read = log.read(position, sizes[fetches++ % sizes.length] as number);
          assert.equal(read.fetchOffset, position);
          assert.ok(
            read.nextOffset >= position && read.nextOffset <= Math.max(position, read.endOffset),
          );
          seen.push(...read.records.map(({ offset }) => offset));
          const moved = read.nextOffset > position;
          position = read.nextOffset;
          return moved;
        };
        let generation = 0;
        const ids = new Map<number, number>();
        for (const s of steps) {
          if (s.do === 'append') {
            if (s.transaction !== undefined && !ids.has(s.transaction))
              ids.set(s.transaction, ++generation * 10 + s.transaction);
            const id = s.transaction === undefined ? undefined : ids.get(s.transaction);
            log.append(
              Array.from({ length: s.count }, () => record('k')),
              0,
              id,
            );
            for (let i = 0; i < s.count; i++)
              model.push({
                data: true,
                fate: id === undefined ? 'commit' : 'open',
                transaction: id,
              });
          } else {
            const id = ids.get(s.transaction);
            if (id === undefined) continue;
            ids.delete(s.transaction);
            log.finish(id, s.outcome, 0);
            for (const entry of model) if (entry.transaction === id) entry.fate = s.outcome;
            model.push({ data: false, fate: 'commit', transaction: undefined });
          }
          readOn();
        }
        while (readOn());
        const firstOpen = model.findIndex(({ fate }) => fate === 'open');
        const stable = firstOpen < 0 ? model.length : firstOpen;
        assert.equal(log.stableEnd, stable);
        const visible = model.flatMap(({ data, fate }, offset) =>
          data && fate === 'commit' && offset < stable ? [offset] : [],
        );
        assert.deepEqual(seen, visible);
        assert.deepEqual(offsetsOf(log), visible);
        assert.equal(position, stable);
      },
    ),
  );
});
