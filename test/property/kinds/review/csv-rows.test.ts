import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseKeepingDigits } from '../../../../src/base/json/exact-json.ts';
import { BufferPool } from '../../../../src/core/bytes/buffer-pool.ts';
import type { ContentItem, JsonObject } from '../../../../src/core/record.ts';
import {
  type ColumnOptions,
  DEFAULT_COLUMNS,
} from '../../../../src/kinds/review/metadata/columns.ts';
import { CsvRows } from '../../../../src/kinds/review/upload/csv-rows.ts';
import { contentItem } from '../../../unit/kinds/review/sample.ts';
import { headers, hostileText, keyBytes, metadataText } from './hostile.ts';
import { plainUpload } from './plain-upload.ts';

/** Whole numbers of each length, and what a record batch can hold beside. */
const integer = fc.oneof(
  fc.integer({ min: 0, max: 15 }).chain((digits) => fc.integer({ min: 0, max: 10 ** digits })),
  fc.constantFrom(-1, 999_999_999, 1_000_000_000, Number.MAX_SAFE_INTEGER, 2 ** 31, 2 ** 32),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(Number),
);
const count = integer.filter((value) => Number.isSafeInteger(value) && value >= 0);

/** Numbers as `JSON.parse` and expressions give them: negative zero, exponents, many digits. */
const numbers = fc.oneof(
  fc.constantFrom(-0, 1e21, 1e-7, 5e-324, -1.7976931348623157e308, 0.1),
  fc.double(),
  integer,
);

const metadata: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 4, arbitrary: metadataText.map((text) => parseKeepingDigits(text) as JsonObject) },
  {
    weight: 2,
    arbitrary: fc.dictionary(
      fc.constantFrom('a', 'b', 'c', '__proto__', 'lang'),
      fc.oneof(numbers, hostileText),
    ),
  },
  // Many columns.
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(60), fc.nat(60)).map(([from, size]) => {
      return Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${from + i}`, i]));
    }),
  },
);

/** Texts that fill slabs, so that the rows behind them lie at their borders. */
const filler = fc
  .tuple(fc.integer({ min: 0, max: 20_000 }), fc.constantFrom('x', '"', 'é', '€', '€,'))
  .map(([length, unit]) => unit.repeat(length));

const coordinates = { partition: count, offset: count, timestampMs: integer };
const key = fc.oneof(
  keyBytes,
  fc.constant(Buffer.from('user-1')),
  fc.constantFrom('"', '\\', 'a"', '\x7f', '\t').map(Buffer.from),
);

const item: fc.Arbitrary<ContentItem> = fc
  .oneof(
    // Mostly with nothing in the extras of its reference.
    fc.record({
      ...coordinates,
      key,
      content: hostileText,
      metadata: fc.dictionary(fc.constantFrom('a', 'b', 'lang'), numbers),
    }),
    fc.record(
      {
        ...coordinates,
        key,
        outputKey: keyBytes,
        headers: fc.oneof(headers, fc.constant([])),
        content: fc.oneof({ weight: 4, arbitrary: hostileText }, { weight: 1, arbitrary: filler }),
        metadata,
        expected: fc.option(hostileText, { nil: undefined }),
        replay: fc.constantFrom(0, 0, 3),
      },
      { requiredKeys: ['partition', 'offset', 'timestampMs', 'key', 'content', 'metadata'] },
    ),
  )
  .map((over) => contentItem(over));

const options: fc.Arbitrary<ColumnOptions> = fc.record({
  referenceColumn: fc.constantFrom('connector_ref', 'réf, "x"'),
  resultColumn: fc.constantFrom(undefined, 'lang'),
  maxMetadataColumns: fc.constantFrom(200, 200, 3, 0),
  escapeFormulas: fc.boolean(),
});

const broken = new Error('this item cannot be written');

/** An item that fails when its row is half written: at a value of its metadata, or later. */
const failing = fc
  .record({
    item,
    member: fc.constantFrom('metadata', 'expected', 'headers', 'key'),
    more: metadata,
    failingKey: fc.constantFrom('a', 'b', 'lang', 'new'),
  })
  .map(({ item, member, more, failingKey }): ContentItem => {
    const fails = { enumerable: true, get: (): never => assert.fail(broken) };
    if (member !== 'metadata') return Object.defineProperty({ ...item }, member, fails);
    const value = Object.defineProperty({ a: 1 }, 'toJSON', fails);
    return { ...item, metadata: { ...item.metadata, ...more, [failingKey]: value } };
  });

test('rows are byte for byte those of csv-stringify, and of an item that fails nothing is left', async () => {
  const entry = fc.oneof(
    { weight: 4, arbitrary: fc.record({ item, fails: fc.constant(false) }) },
    { weight: 1, arbitrary: fc.record({ item: failing, fails: fc.constant(true) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 12 }), options, async (entries, columns) => {
      const pool = new BufferPool(1024 * 1024);
      const rows = new CsvRows(columns, pool);
      for (const { item, fails } of entries) {
        if (fails) assert.throws(() => rows.add(item), broken);
        else rows.add(item);
      }
      const good = entries.filter(({ fails }) => !fails).map(({ item }) => item);
      const encoded = await rows.finish();
      assert.equal(encoded.body.toString('latin1'), plainUpload(good, columns).toString('latin1'));
      assert.equal(encoded.rows, good.length);
      assert.deepEqual([rows.heldBytes, pool.lentBytes], [0, encoded.heldBytes]);
      encoded.release();
      assert.equal(pool.lentBytes, 0);
    }),
    { numRuns: 2_000 },
  );
});

test('a batch of a few thousand items, whose rows lie across many slabs, is that of csv-stringify too', async () => {
  const many = fc.array(item, { minLength: 2_000, maxLength: 3_000, size: 'max' });
  await fc.assert(
    fc.asyncProperty(many, async (items) => {
      const rows = new CsvRows(DEFAULT_COLUMNS, new BufferPool(0));
      for (const one of items) rows.add(one);
      const { body } = await rows.finish();
      assert.ok(body.equals(plainUpload(items, DEFAULT_COLUMNS)));
    }),
    // To shrink such a batch takes minutes.
    { numRuns: 3, endOnFailure: true },
  );
});

test('rows are the same wherever among their bytes a slab ends', async () => {
  const numbers = Object.fromEntries(
    Array.from({ length: 4 }, (_, i) => [`number ${i}`, -0.0000012345678901234567]),
  );
  const metadata = {
    ...numbers,
    long: 'name',
    yes: true,
    list: [1, '"'],
    ['k'.repeat(200)]: null,
    '€': '€'.repeat(40),
  };
  const probe = contentItem({
    content: '€'.repeat(40),
    metadata,
    key: Buffer.alloc(200, 'k'),
    expected: '"'.repeat(60),
  });
  const manyColumns = contentItem({
    metadata: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, ''])),
  });
  const plain = contentItem({ content: 'x'.repeat(100) });
  for (let shift = 0; shift < 1_500; shift++) {
    // The first slab has 8 KiB; a key takes as many bytes as it has.
    const shifted = contentItem({ key: Buffer.alloc(shift, 'k') });
    // This reference is larger than what is given room by its length, and ends where a slab of 32 KiB does.
    const long = contentItem({ outputKey: Buffer.alloc(31_500 + shift, 'k') });
    for (const items of [
      [manyColumns, ...Array(25).fill(plain), shifted, probe, probe, probe],
      [long],
    ]) {
      const rows = new CsvRows(DEFAULT_COLUMNS, new BufferPool(0));
      for (const one of items) rows.add(one);
      const { body } = await rows.finish();
      assert.ok(body.equals(plainUpload(items, DEFAULT_COLUMNS)), `shifted by ${shift}`);
    }
  }
});
