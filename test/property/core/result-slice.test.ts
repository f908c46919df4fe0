import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TerminalRecords } from '../../../src/core/bytes/encoded-records.ts';
import {
  type BrokenRow,
  type MalformedRow,
  type ReadRow,
  type ResultRow,
  ResultSlice,
} from '../../../src/core/bytes/result-slice.ts';
import { asBytes, hostileRecord } from '../../support/records/hostile-records.ts';
import { sliceOf } from '../../support/records/slices.ts';

const place = { partition: fc.nat(), offset: fc.maxSafeNat() };
const whole: fc.Arbitrary<ResultRow> = fc.record(
  {
    ...place,
    status: fc.constantFrom('success' as const, 'error' as const),
    // Draws few values, so that rows share results. An empty string counts as a result.
    result: fc.constantFrom(undefined, '', 'spam', '__proto__', 'x'.repeat(500)),
    record: hostileRecord,
  },
  { noNullPrototype: true },
);
const malformed: fc.Arbitrary<MalformedRow> = fc.record(
  { malformed: fc.string() },
  { noNullPrototype: true },
);
const poison = { reason: 'internal_error', message: 'm' } as const;
const broken: fc.Arbitrary<BrokenRow> = fc.record(
  { ...place, poison: fc.constant(poison) },
  { noNullPrototype: true },
);
const rows = fc.array(
  fc.oneof({ weight: 6, arbitrary: whole }, malformed, broken) as fc.Arbitrary<ReadRow>,
  { maxLength: 60 },
);

const isWhole = (row: ReadRow): row is ResultRow => 'record' in row;

test('a slice preserves its rows in order; rows without a record come last', () => {
  fc.assert(
    fc.property(rows, (all) => {
      const slice = sliceOf(all);
      const expected = all.filter(isWhole);
      assert.equal(slice.length, expected.length);
      assert.deepEqual(
        slice.others,
        all.filter((row) => !isWhole(row)),
      );
      for (const [row, { partition, offset, record, ...outcome }] of expected.entries()) {
        const { status, result } = outcome;
        assert.deepEqual(
          [slice.partition(row), slice.offset(row), slice.outcome(row), slice.record(row)],
          [partition, offset, { isError: status === 'error', result }, asBytes(record)],
        );
      }
      assert.deepEqual(
        [...slice],
        [
          ...expected.map((row) => ({
            ...{ ...row, result: row.result },
            record: asBytes(row.record),
          })),
          ...slice.others,
        ],
      );
    }),
  );
});

test('terminal records are the bytes of the slice’s records', () => {
  fc.assert(
    fc.property(rows, (all) => {
      const slice = sliceOf(all);
      const terminal = new TerminalRecords();
      for (let row = 0; row < slice.length; row++)
        terminal.addBytes(
          slice.partition(row),
          slice.offset(row),
          slice.bytes,
          slice.start(row),
          slice.end(row),
        );
      assertTerminal(terminal, all.filter(isWhole));
      const added = new TerminalRecords();
      for (const one of all.filter(isWhole)) added.add(one, one.record);
      assertTerminal(added, all.filter(isWhole));
    }),
  );
});

test('many terminal records keep their coordinates, and a clear removes all of them', () => {
  const terminal = new TerminalRecords();
  for (const count of [1_000, 10, 5_000]) {
    terminal.clear();
    const expected = Array.from({ length: count }, (_, n) => ({
      partition: n % 7,
      offset: n * 1_000_000_007,
      record: { key: `${n}`, value: 'v'.repeat(n % 200) },
    }));
    for (const one of expected) terminal.add(one, one.record);
    assertTerminal(terminal, expected);
  }
});

function assertTerminal(
  terminal: TerminalRecords,
  rows: readonly Omit<ResultRow, 'status'>[],
): void {
  assert.deepEqual(
    Array.from({ length: terminal.length }, (_, row) => [
      terminal.partition(row),
      terminal.offset(row),
      terminal.records.record(row),
    ]),
    rows.map(({ partition, offset, record }) => [partition, offset, asBytes(record)]),
  );
}

test('a row whose record cannot be encoded becomes a broken row, and the other rows stay', () => {
  const bad = { key: null, value: 7 as unknown as Buffer };
  const good = { key: 'k', value: 'v' };
  const row = (offset: number, record: typeof good | typeof bad) => ({
    partition: 1,
    offset,
    status: 'success' as const,
    record,
  });
  const slice = sliceOf([row(0, good), row(1, bad), row(2, good)]);
  assert.deepEqual(
    [slice.length, slice.offset(0), slice.offset(1), slice.end(1)],
    [2, 0, 2, slice.bytes.length],
  );
  const [other, ...more] = slice.others;
  assert.ok(other !== undefined && 'poison' in other && more.length === 0);
  assert.deepEqual([other.partition, other.offset, other.poison.reason], [1, 1, 'internal_error']);
});

test('the memory of a slice is free after any number of releases', () => {
  const columns = {
    rows: 0,
    numbers: new Float64Array(0),
    bytes: new ArrayBuffer(64),
    outcomes: [],
    others: [],
  };
  const slice = new ResultSlice(columns);
  assert.equal(slice.bytes.length, 64);
  for (let n = 0; n < 3; n++) slice.release();
  assert.deepEqual([slice.bytes.length, columns.bytes.detached], [0, true]);
});
