/** Compares events that the JSON scanner reads with the same events, parsed for expressions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CompactObject } from '../../../packages/client/src/base/json/compact-object.ts';
import { textOfString } from '../../../packages/client/src/base/json/json-text.ts';
import { parseKeepingDigits } from '../../../packages/client/src/base/json/parse-json.ts';
import {
  canonical,
  nameText,
  numberText,
  objectText,
  stringText,
  valueText,
} from '../../../packages/client/test/property/base/json-texts.ts';
import { RecordView } from '../../../src/core/bytes/record-view.ts';
import type { Decoded, JsonPart } from '../../../src/core/record.ts';
import {
  createDecoder,
  DEFAULT_MAPPING,
  type MappingOptions,
} from '../../../src/kinds/review/decode.ts';

const RUNS = { numRuns: 1_000 };

/** Mapping whose expressions give the same results as the default paths. */
const EXPRESSIONS: MappingOptions = {
  ...DEFAULT_MAPPING,
  content: 'content | @',
  type: { field: 'type | @' },
  metadata: 'metadata | @',
  expected: 'expected_result | @',
};

/** Returns a record surrounded by other bytes, which would continue its JSON. */
function viewOf(text: string): RecordView {
  const bytes = Buffer.from(`"}${text}"}`);
  return new RecordView({
    ...{ partition: 1, offset: 2, timestampMs: 3, headers: [], bytes },
    ...{ keyStart: 0, keyLength: 2, valueStart: 2, valueLength: bytes.length - 4 },
  });
}

const copies = new CompactObject();
function compact({ bytes, start, end }: JsonPart): string {
  const to = Buffer.alloc(end - start);
  return to.toString('utf8', 0, copies.copy(bytes, start, to, 0));
}

/** Returns the parts of an event that appear in its decision. */
function decisionInputs(decoded: Decoded): unknown {
  if (!('item' in decoded)) return 'poison' in decoded ? decoded.poison.reason : decoded;
  const { content, type, metadata, expected } = decoded.item;
  return {
    content: textOfString(content),
    type,
    metadata: compact(metadata),
    expected: expected && textOfString(expected),
  };
}

/** Returns the inputs with the members of the metadata sorted by name. */
function inOrder(inputs: unknown): unknown {
  const { metadata, ...others } = inputs as { metadata?: string };
  if (metadata === undefined) return inputs;
  return { ...others, metadata: JSON.stringify(canonical(parseKeepingDigits(metadata))) };
}

function bothOf(text: string): [paths: unknown, expressions: unknown] {
  const record = viewOf(text);
  const [paths, expressions] = [DEFAULT_MAPPING, EXPRESSIONS].map((mapping) =>
    decisionInputs(createDecoder(mapping).decode(record, 0)),
  );
  return [paths, expressions];
}

/** Names that JavaScript keeps in order, unlike integer names. */
const usualName = fc.tuple(nameText, fc.nat(99)).map(([name, n]) => `${name.slice(0, -1)}_${n}"`);
const { object: usualObject } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    stringText,
    numberText,
    fc.constantFrom('true', 'false', 'null'),
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
  ),
  object: fc
    .uniqueArray(fc.tuple(usualName, tie('value')), {
      maxLength: 6,
      selector: ([name]) => JSON.parse(name) as string,
    })
    .map((members) => `{ ${members.map(([name, value]) => `${name}: ${value}`).join(',\n')} }`),
}));

const eventOf = (metadata: fc.Arbitrary<string>) =>
  fc
    .record({
      content: fc.oneof({ weight: 9, arbitrary: stringText }, valueText),
      type: fc.oneof({ weight: 9, arbitrary: stringText }, valueText),
      metadata: fc.oneof({ weight: 9, arbitrary: metadata }, fc.constantFrom('null', '[]', '1.0')),
      expected: fc.oneof({ weight: 9, arbitrary: stringText }, valueText),
      before: valueText,
    })
    .map(
      ({ content, type, metadata, expected, before }) =>
        `{"x":${before},"content":1,"\\u0063ontent":${content} ,"type":${type},` +
        `"metadata":${metadata},"expected_result":${expected}}`,
    );

test('paths and expressions give a decision the same parts of an event, byte for byte', () => {
  fc.assert(
    fc.property(eventOf(usualObject), (text) => {
      const [paths, expressions] = bothOf(text);
      assert.deepEqual(paths, expressions);
    }),
    RUNS,
  );
});

test('integer names and repeated names change only the order of members', () => {
  fc.assert(
    fc.property(eventOf(objectText), (text) => {
      const [paths, expressions] = bothOf(text);
      assert.deepEqual(inOrder(paths), inOrder(expressions));
    }),
    RUNS,
  );
});

test('any bytes become an item, or a dead letter whose message does not contain them', () => {
  const decoders = [DEFAULT_MAPPING, EXPRESSIONS].map((mapping) => createDecoder(mapping));
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 100 }).map((array) => Buffer.from(array)),
    fc
      .tuple(eventOf(objectText), fc.nat(), fc.integer({ min: 0, max: 255 }))
      .map(([text, at, byte]) => {
        const changed = Buffer.from(text);
        changed[at % changed.length] = byte;
        return changed;
      }),
  );
  fc.assert(
    fc.property(bytes, (value) => {
      const record = { partition: 0, offset: 0, timestampMs: 0, key: null, value, headers: [] };
      for (const { decode, decodeCost } of decoders) {
        assert.ok(decodeCost(record) >= 0);
        const decoded = decode(record, 0);
        if ('poison' in decoded) assert.match(decoded.poison.message, /^[\x20-\x7e]+$/);
      }
    }),
    RUNS,
  );
});
