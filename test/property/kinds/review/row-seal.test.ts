import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { BODY_START } from '../../../../src/kinds/review/event-part.ts';
import {
  collectRows,
  contentItem,
  JOB,
  kindWithFile,
  openedOf,
  referenceOf,
} from '../../../unit/kinds/review/sample.ts';
import { headers, hostileText, keyBytes, metadataText } from './hostile.ts';

const FORGED = [{ malformed: 'the reference is not the one that was uploaded', forged: true }];

const item = fc
  .record({
    key: keyBytes,
    headers,
    replay: fc.nat(2),
    partition: fc.nat(),
    offset: fc.maxSafeNat(),
    timestampMs: fc.integer(),
    metadata: metadataText,
    expected: fc.option(hostileText, { nil: undefined }),
    content: hostileText,
  })
  .map(contentItem);

async function rowsOf(reference: string, job = JOB) {
  const file = stringify([
    ['Content', 'a', 'Status', 'Acme result', 'connector_ref'],
    ['hello', 'x', 'SUCCESS', 'ok', reference],
  ]);
  return (await collectRows(kindWithFile(file), undefined, job)).rows;
}

test('a cell with any change decides nothing, or what it decided before', async () => {
  const change = fc.record({ at: fc.nat(), character: fc.constantFrom('0', '"', '{', 'A', 'é') });
  await fc.assert(
    fc.asyncProperty(item, change, async (of, { at, character }) => {
      const reference = referenceOf(of);
      const expected = await rowsOf(reference);
      assert.ok(expected[0] !== undefined && 'record' in expected[0]);
      const place = at % reference.length;
      for (const changed of [
        reference.slice(0, place) + character + reference.slice(place + 1),
        reference.slice(0, place) + reference.slice(place + 1),
        reference.slice(0, place),
        reference.slice(0, place) + character + reference.slice(place),
        reference + reference,
      ]) {
        const [row] = await rowsOf(changed);
        // Base64 ignores foreign characters, and the last bits of a text that are no whole byte.
        if (row === undefined || !('malformed' in row)) assert.deepEqual([row], expected);
      }
      assert.deepEqual(await rowsOf(referenceOf(of, { rowKey: 'B'.repeat(22) })), FORGED);
      assert.deepEqual(await rowsOf(reference, { ...JOB, rowKey: 'C'.repeat(22) }), FORGED);
    }),
    { numRuns: 300 },
  );
});

test('a cell comes back from every dialect of CSV, every normalisation and encoding', () => {
  const dialect = fc.record({
    delimiter: fc.constantFrom(',', ';', '\t', '|', ':'),
    quote: fc.constantFrom('"', "'"),
    quoted: fc.boolean(),
    record_delimiter: fc.constantFrom('\n', '\r\n', '\r'),
    bom: fc.boolean(),
  });
  const way = fc.array(
    fc.constantFrom(
      (cell: string) => cell.trim(),
      (cell: string) => ` ${cell}\r\n`,
      (cell: string) => cell.normalize('NFD'),
      (cell: string) => cell.normalize('NFKC'),
      (cell: string) => Buffer.from(cell, 'latin1').toString('latin1'),
      (cell: string) => Buffer.from(cell, 'utf16le').toString('utf16le'),
      (cell: string) => cell.replaceAll('\r\n', '\n'),
    ),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(item, dialect, way, (of, style, steps) => {
      const cell = referenceOf(of, { includeContent: true });
      const file = stringify(
        [
          ['a', 'ref', 'b'],
          ['x', cell, 'y'],
        ],
        { ...style, escape: style.quote },
      );
      const { delimiter, quote, record_delimiter } = style;
      const read = { delimiter, quote, escape: quote, record_delimiter, bom: true, trim: true };
      const [, [, found = ''] = []] = parse(file, read) as string[][];
      const came = steps.reduce((text, step) => step(text), found);
      const part = openedOf(came);
      const body = Buffer.from(cell.slice(17), 'base64url');
      assert.ok(part.bytes.subarray(BODY_START, part.end).equals(body));
      assert.deepEqual(
        [part.partition, part.offset, part.replay],
        [of.partition, of.offset, of.replay],
      );
    }),
    { numRuns: 300 },
  );
});
