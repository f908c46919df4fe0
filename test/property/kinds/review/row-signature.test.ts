import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { BufferPool } from '../../../../src/core/bytes/buffer-pool.ts';
import { DEFAULT_COLUMNS } from '../../../../src/kinds/review/metadata/columns.ts';
import {
  LENGTH,
  RowSignature,
  SIGNATURE_ROOM,
} from '../../../../src/kinds/review/row-signature.ts';
import { CsvRows } from '../../../../src/kinds/review/upload/csv-rows.ts';
import { readCsv } from '../../../unit/kinds/review/plain-csv.ts';
import { collectRows, contentItem, JOB, kindWithFile } from '../../../unit/kinds/review/sample.ts';
import { headers, keyBytes } from './hostile.ts';

const KEY = 'AAECAwQFBgcICQoLDA0ODw';
const SIGNED = { ...JOB, rowKey: KEY };
const FORGED = [{ malformed: 'the reference is not the one that was uploaded', forged: true }];

const item = fc
  .record({
    key: keyBytes,
    headers,
    replay: fc.nat(2),
    offset: fc.nat(),
    timestampMs: fc.integer(),
    metadata: fc.constantFrom<Record<string, string | number>>({}, { a: 'x' }, { 'b"': 1 }),
  })
  .map(contentItem);

async function referenceOf(of: ReturnType<typeof contentItem>, rowKey?: string): Promise<string> {
  const rows = new CsvRows(DEFAULT_COLUMNS, new BufferPool(0), rowKey);
  rows.add(of);
  return readCsv(String((await rows.finish()).body))[1]?.at(-1) ?? assert.fail();
}

async function rowsOf(reference: string, job = SIGNED) {
  const file = stringify([
    ['Content', 'a', 'b"', 'Status', 'Acme result', 'connector_ref'],
    ['hello', 'x', '1', 'SUCCESS', 'ok', reference],
  ]);
  return (await collectRows(kindWithFile(file), undefined, job)).rows;
}

test('a signature is the beginning of an HMAC-SHA-256', () => {
  const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((of) => Buffer.from(of));
  fc.assert(
    fc.property(bytes(64), bytes(2_000), (key, text) => {
      const expected = createHmac('sha256', key).update(text).digest('base64url');
      const to = Buffer.alloc(text.length + SIGNATURE_ROOM);
      text.copy(to);
      const end = new RowSignature(key.toString('base64url')).write(to, 0, text.length);
      const signature = `""s"":""${expected.slice(0, LENGTH)}""}]`;
      assert.equal(to.toString('latin1', text.length, end), signature);
    }),
  );
});

test('a reference with any change, or without its signature, decides nothing', async () => {
  const change = fc.record({ at: fc.nat(), character: fc.constantFrom('0', '"', '{', 'A', 'é') });
  await fc.assert(
    fc.asyncProperty(item, change, async (of, { at, character }) => {
      const reference = await referenceOf(of, KEY);
      const place = at % reference.length;
      for (const changed of [
        reference.slice(0, place) + character + reference.slice(place + 1),
        reference.slice(0, place) + reference.slice(place + 1),
        reference.slice(0, place) + character + reference.slice(place),
      ])
        if (changed !== reference) assert.ok('malformed' in ((await rowsOf(changed))[0] ?? {}));
      assert.deepEqual(await rowsOf(await referenceOf(of)), FORGED);
      const other = await referenceOf(of, 'B'.repeat(22));
      assert.deepEqual(await rowsOf(other), FORGED);
    }),
    { numRuns: 300 },
  );
});

test('a signed reference gives the decision of an unsigned one, also to a reader without the key', async () => {
  const { rowKey: _, ...unsigned } = SIGNED;
  await fc.assert(
    fc.asyncProperty(item, async (of) => {
      const signed = await referenceOf(of, KEY);
      const plain = await referenceOf(of);
      const expected = await rowsOf(plain, unsigned as typeof SIGNED);
      assert.ok(expected[0] !== undefined && 'record' in expected[0]);
      for (const job of [SIGNED, unsigned as typeof SIGNED])
        assert.deepEqual(await rowsOf(signed, job), expected);
      assert.deepEqual(await rowsOf(`  ${signed}\r\n`), expected);
      assert.ok(signed.length - plain.length <= 29, 'bytes of a signature');
    }),
    { numRuns: 300 },
  );
});
