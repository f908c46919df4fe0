/** Type maps, selected metadata, filters and limits of the mapping. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writtenText } from '../../../../packages/client/src/base/json/json-text.ts';
import type { SourceRecord } from '../../../../src/core/record.ts';
import {
  createDecoder,
  DEFAULT_MAPPING,
  type MappingOptions,
} from '../../../../src/kinds/review/decode.ts';
import { valuesOf } from '../../../support/records/item-values.ts';
import { sourceRecord } from './sample.ts';

const EVENT = { content: 'hi', type: 'post' };

function decoded(
  value: unknown,
  over: Partial<MappingOptions>,
  record: Partial<SourceRecord> = {},
  again?: { type: string },
) {
  return createDecoder({ ...DEFAULT_MAPPING, ...over }).decode(
    sourceRecord(value, record),
    0,
    again,
  );
}

function itemOf(...[value, over, record]: Parameters<typeof decoded>) {
  const result = decoded(value, over, record);
  if (!('item' in result)) assert.fail(JSON.stringify(result));
  return { ...valuesOf(result.item), written: writtenText(result.item.metadata) };
}

/** Returns `reason: message` of a dead letter, or the other outcome of the record. */
function fateOf(...given: Parameters<typeof decoded>): string {
  const result = decoded(...given);
  if ('item' in result) return 'item';
  if ('skip' in result) return `skip ${result.skip}`;
  assert.doesNotMatch(result.poison.message, /SECRET/);
  return `${result.poison.reason}: ${result.poison.message}`;
}

test('a type map looks up numbers and booleans in their JSON form, and uses otherwise for unknown values', () => {
  const map = { '1': 'comment', true: 'post', x: 'image' };
  const typeOf = (kind: unknown, otherwise?: string) =>
    itemOf({ ...EVENT, kind }, { type: { field: 'kind', map, otherwise } }).type;
  assert.deepEqual(
    [typeOf(1), typeOf(true), typeOf('1'), typeOf('x')],
    ['comment', 'post', 'comment', 'image'],
  );
  assert.deepEqual(
    [typeOf('y', 'o'), typeOf(null, 'o'), typeOf(['x'], 'o'), typeOf('constructor', 'o')],
    ['o', 'o', 'o', 'o'],
  );
  const fate = (kind: unknown) => fateOf({ ...EVENT, kind }, { type: { field: 'kind', map } });
  assert.match(
    fate('SECRET'),
    /^type_not_allowed: "kind" is a string that is not in source\.mapping\.type\.map/,
  );
  assert.match(
    fate(undefined),
    /^no_type: "kind" must be one of the keys of source\.mapping\.type\.map, but is missing/,
  );
});

test('bytes and keys of metadata are limited, even if an expression multiplies a small input', () => {
  const metadata = { a: 'x'.repeat(200), b: 1 };
  assert.match(
    fateOf({ ...EVENT, metadata }, { maxMetadataBytes: 100 }),
    /^too_large: "metadata" has \d+ bytes, more than the 100 allowed/,
  );
  assert.equal(
    fateOf({ ...EVENT, content: 'x'.repeat(200), metadata: { b: 1 } }, { maxMetadataBytes: 100 }),
    'item',
  );
  const wide = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`k${n}`, n]));
  assert.match(
    fateOf({ ...EVENT, metadata: wide }, {}),
    /^too_large: "metadata" has 1001 keys, more than the 1000 allowed/,
  );
  const items = Array.from({ length: 2_000 }, (_, id) => ({ id }));
  const squared = '{all: items[].{all: $.items}}';
  assert.match(
    fateOf({ ...EVENT, items }, { metadata: squared }),
    /^too_large: `\{all: .*` has more than the 1048576 bytes allowed \(source\.mapping\.metadata\)$/,
  );
  // The result has 2^40 parts: traversing all of them would never end.
  const doubled = `{all: @${' | [@, @]'.repeat(40)}}`;
  assert.match(fateOf(EVENT, { metadata: doubled }), /^too_large: .* more than the 1048576 bytes/);
  assert.match(
    fateOf({ ...EVENT, expected_result: 'x'.repeat(101) }, { maxMetadataBytes: 100 }),
    /^too_large: "expected_result"/,
  );
});

test('an item goes to the first lane that matches its type or an expression', () => {
  const lanes = {
    live: { types: ['chat'], when: 'urgent' },
    archive: { when: "origin == 'archive'" },
  };
  const laneOf = (more: object, again?: { type: string }) => {
    const result = decoded({ ...EVENT, ...more }, { lanes }, {}, again);
    return 'item' in result ? result.item.lane : fateOf({ ...EVENT, ...more }, { lanes });
  };
  assert.equal(laneOf({ type: 'chat', origin: 'archive' }), 'live');
  assert.equal(laneOf({ urgent: true }), 'live');
  assert.equal(laneOf({ origin: 'archive' }), 'archive');
  assert.equal(laneOf({}), undefined);
  assert.equal(
    laneOf({ urgent: 1 }),
    'mapping_failed: "urgent" must be true or false, but is a number (lanes.live.when)',
  );
  assert.equal(laneOf({ urgent: 1 }, { type: 'post' }), undefined, 'the lane of its batch is used');
});

test('a filter accepts true and skips false and null; any other result leads to a dead letter', () => {
  const fate = (filter: string, more = {}, again?: { type: string }) =>
    fateOf({ ...EVENT, ...more }, { filter }, {}, again);
  assert.equal(fate("type == 'post'"), 'item');
  assert.equal(fate("type == 'image'"), 'skip filter');
  assert.equal(fate('score > `5`'), 'skip filter');
  assert.equal(fate('wanted'), 'skip filter');
  assert.match(
    fate('type'),
    /^mapping_failed: "type" must be true or false, but is a string \(source\.filter\)$/,
  );
  assert.match(
    fate('length(tags) > `0`'),
    /^mapping_failed: `length\(tags\) > `0`` cannot be evaluated/,
  );
  assert.equal(
    fate("type == 'image'", {}, { type: 'post' }),
    'item',
    'a reread record has passed the filter before',
  );
  assert.equal(fate('type', {}, { type: 'post' }), 'item');
});
