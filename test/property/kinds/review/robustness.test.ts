import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mayLoseDigits } from '../../../../src/base/json/exact-json.ts';
import { bodyOf } from '../../../../src/core/batch/body-of.ts';
import { ServiceError } from '../../../../src/core/outcome/service-error.ts';
import {
  ColumnNames,
  foldName,
  isResultFileColumn,
  keyOfHeader,
} from '../../../../src/kinds/review/metadata/column-names.ts';
import { parseShape, shapeEntry } from '../../../../src/kinds/review/metadata/metadata-shape.ts';
import { readReference } from '../../../../src/kinds/review/reference.ts';
import { readLabels } from '../../../../src/kinds/review/results/labels.ts';
import { collectRows, kindWithFile, sourceRecord } from '../../../unit/kinds/review/sample.ts';
import { decimalOf } from './decimals.ts';
import { hostileKey, hostileText, metadataText, numberLiteral } from './hostile.ts';

const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));

test('the decoder never throws, and what it accepts can be uploaded', async () => {
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

test('each key has a unique header, which is reversible and distinct from all other columns', () => {
  fc.assert(
    fc.property(fc.uniqueArray(hostileKey, { maxLength: 30 }), (keys) => {
      const names = new ColumnNames(['connector_ref', 'Decision']);
      const headers = keys.map((key) => names.headerFor(key));
      assert.deepEqual(headers.map(keyOfHeader), keys);
      assert.equal(new Set(headers).size, keys.length);
      const taken = headers.map(foldName);
      assert.ok(
        !taken.includes(foldName('connector_ref')) && !taken.includes(foldName('Decision')),
      );
      assert.ok(!headers.some(isResultFileColumn));
      assert.ok(
        headers.every(
          (header) => header === header.trim() && header !== '' && header.isWellFormed(),
        ),
      );
    }),
  );
});

test('the header of a key does not depend on the keys before it', () => {
  fc.assert(
    fc.property(fc.array(hostileKey, { maxLength: 30 }), (keys) => {
      const names = new ColumnNames(['connector_ref']);
      for (const key of keys)
        assert.equal(names.headerFor(key), new ColumnNames(['connector_ref']).headerFor(key));
    }),
  );
});

test('a shape preserves its keys, and needs no escapes in a JSON string', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ key: hostileKey, json: fc.boolean() }, { noNullPrototype: true }), {
        minLength: 1,
      }),
      (entries) => {
        const shape = entries.map(({ key, json }) => shapeEntry(key, json)).join(',');
        assert.deepEqual(parseShape(shape), entries);
        assert.equal(JSON.parse(`"${shape}"`), shape);
        assert.ok(shape.isWellFormed());
      },
    ),
  );
});

test('a number that a double would change is always noticed', () => {
  fc.assert(
    fc.property(numberLiteral, fc.constantFrom('', ' ', '\n'), (literal, blank) => {
      const text = `{"a":${blank}${literal}${blank}}`;
      const { a } = JSON.parse(text);
      if (!mayLoseDigits(text))
        assert.equal(decimalOf(Object.is(a, -0) ? '-0' : String(a)), decimalOf(literal));
    }),
  );
});

test('any text in a Labels cell becomes a list of labels', () => {
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

test('any text in the reference column is a reference or a reason', () => {
  const almost = fc
    .array(fc.oneof(fc.json(), fc.constantFrom('0', '1', 'null', '"a"')), { maxLength: 7 })
    .map((parts) => `[${parts.join(',')}]`);
  fc.assert(
    fc.property(fc.oneof(hostileText, fc.json(), almost), (text) => {
      const read = readReference(text);
      if (read.ok)
        assert.ok(
          Number.isSafeInteger(read.value.partition) && Number.isSafeInteger(read.value.offset),
        );
    }),
  );
});

const HEADER = 'Content,Status,Acme result,Expected result,Labels,lang,score,connector_ref\r\n';
const ROW = '"a ""b""\r\n",SUCCESS,ok,,"[""x""]",en,0.5,"[3,41,0,""k"",""lang,=score""]"\r\n';

test('a damaged file gives rows, malformed rows or a protocol error, the same for pieces of any size', async () => {
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
          // Of a slice the rows with a record come first.
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
