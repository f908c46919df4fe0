import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import { readLabels } from '../../../../packages/client/src/results/labels.ts';
import {
  foldName,
  headerFor,
  isResultColumn,
} from '../../../../packages/client/src/results/result-header.ts';
import { bodyOf } from '../../../../src/app/tools/sample.ts';
import {
  collectRows,
  kindWithFile,
  referenceOf,
  sourceRecord,
} from '../../../unit/kinds/review/sample.ts';
import { hostileKey, hostileText, metadataText } from './hostile.ts';

const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));

test('the decoder never throws, and every accepted event can be uploaded', async () => {
  const kind = kindWithFile('');
  const value = fc.oneof(
    bytes,
    hostileText.map((text) => Buffer.from(text)),
    fc.json().map((text) => Buffer.from(text)),
    metadataText.map((text) => Buffer.from(`{"content":"x","type":"t","metadata":${text}}`)),
    fc
      .tuple(fc.json(), fc.json(), fc.json())
      .map(([a, b, c]) => Buffer.from(`{"content":${a},"type":${b},"metadata":${c}}`)),
  );
  await fc.assert(
    fc.asyncProperty(value, async (buffer) => {
      const decoded = kind.decode(sourceRecord(buffer), 0);
      if ('item' in decoded) assert.equal((await bodyOf(kind, [decoded.item])).rows, 1);
    }),
  );
});

test('any string in a Labels cell becomes a list of labels', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        hostileText,
        fc.json(),
        metadataText,
        fc.array(hostileText).map((names) => names.join(';')),
      ),
      (cell) => {
        for (const label of JSON.parse(readLabels(cell).json)) {
          assert.equal(typeof label.name, 'string');
          assert.equal(typeof label.applied, 'boolean');
          assert.ok(label.explanation === null || typeof label.explanation === 'string');
        }
      },
    ),
  );
});

test('the header of a metadata column is its key, and no other column can have it', () => {
  const options = { resultColumn: 'Decision' };
  fc.assert(
    fc.property(hostileKey, (key) => {
      const header = headerFor(key, options);
      if (header === undefined) return;
      assert.equal(header, key);
      assert.ok(header === header.trim() && header !== '' && header.isWellFormed());
      const others = [
        'connector_ref',
        'Decision',
        'Content',
        'Status',
        'Labels',
        'Expected result',
      ];
      assert.ok(!others.map(foldName).includes(foldName(header)) && !isResultColumn(header));
    }),
    { numRuns: 500 },
  );
});

const HEADER = 'Content,Status,Acme result,Expected result,Labels,lang,score,connector_ref\r\n';
const REFERENCE = referenceOf({ metadata: { lang: 'en', score: 0.5 } });
const ROW = `"a ""b""\r\n",SUCCESS,ok,,"[""x""]",en,0.5,${REFERENCE}\r\n`;

test('a damaged file gives rows, malformed rows or a protocol error, independent of the size of pieces', async () => {
  const file = Buffer.from(HEADER + ROW.repeat(4));
  const damage = fc.array(
    fc.tuple(
      fc.nat(file.length - 1),
      fc.constantFrom(0x22, 0x2c, 0x0a, 0x0d, 0x5b, 0x00, 0xff, 0x31),
    ),
    {
      maxLength: 4,
    },
  );
  await fc.assert(
    fc.asyncProperty(
      damage,
      fc.nat(file.length),
      fc.integer({ min: 1, max: 64 }),
      async (changes, length, size) => {
        const damaged = Buffer.from(file.subarray(0, length));
        for (const [at, byte] of changes) if (at < length) damaged[at] = byte;
        const pieces: Buffer[] = [];
        for (let at = 0; at < length; at += size) pieces.push(damaged.subarray(at, at + size));
        const outcomes = [];
        for (const given of [damaged, pieces]) {
          const { rows, error } = await collectRows(kindWithFile(given));
          if (error !== undefined)
            assert.ok(error instanceof ServiceError && error.failure === 'protocol', String(error));
          // In a slice, the rows with a record come first.
          const named = rows.toSorted(
            (one, other) => Number('malformed' in one) - Number('malformed' in other),
          );
          const rendered = named.map((row) =>
            'record' in row
              ? String(row.record.value)
              : 'malformed' in row
                ? row.malformed
                : assert.fail(row.poison.crash),
          );
          for (const text of rendered) if (text.startsWith('{')) JSON.parse(text);
          outcomes.push({ rendered, error: error === undefined ? undefined : String(error) });
        }
        assert.deepEqual(outcomes[0], outcomes[1]);
      },
    ),
    { numRuns: 500 },
  );
});
