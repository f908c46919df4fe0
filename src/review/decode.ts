/** A source record becomes a content item, or a reason why not (DESIGN 3 intake, 4 first row). */
import type { KindSteps } from '../core/ports/pipeline-kind.ts';
import type { ContentItem } from '../core/record.ts';
import { EventInput, typeOfFound } from '../event/expression/index.ts';
import { hasValue } from '../event/format.ts';
import { poison } from '../event/json-event.ts';
import { memoryBesideText } from '../event/json-memory.ts';
import { MappedPart, poisonOf } from '../event/mapping-failure.ts';
import { compileOutputKey } from '../event/output-key.ts';
import { compileFilter, FILTERED } from '../event/record-filter.ts';
import { headerBytes, ownKey, pickHeaders } from '../event/record-parts.ts';
import { compileType } from '../event/type-mapping.ts';
import { compileContent } from './content.ts';
import type { MappingOptions } from './mapping.ts';
import { compileMetadata } from './metadata.ts';

/** Counted per item beside its own bytes: the reference, delimiters, and the objects that hold it. */
const ITEM_OVERHEAD_BYTES = 128;

export type Decoder = KindSteps['decode'];

/**
 * Builds the decoder of one mapping. The decoder never throws, and its messages never show what a record holds (I6).
 * @throws RangeError on an expression that is none
 */
export function createDecoder(mapping: MappingOptions): Decoder {
  const withOutputKey = compileOutputKey(mapping.outputKey);
  const filter = mapping.filter === undefined ? undefined : compileFilter(mapping.filter);
  const contentOf = compileContent(mapping);
  const types = compileType(mapping.type, mapping.allowedTypes);
  const metadataOf = compileMetadata(mapping);
  const expectedPart = new MappedPart(mapping.expected, 'source.mapping.expectedResult');
  const { headers: headerNames, nullValues, format, topic, maxMetadataBytes } = mapping;

  function expectedOf(input: EventInput): string | undefined {
    const expected = expectedPart.find(input) ?? undefined;
    if (expected === undefined) return undefined;
    if (typeof expected !== 'string') {
      throw expectedPart.failure('bad_metadata', `must be a string, but is ${typeOfFound(expected)}`);
    }
    if (expected.length > maxMetadataBytes) {
      throw expectedPart.failure('too_large', `has more than the ${maxMetadataBytes} bytes allowed for metadata`);
    }
    return expected;
  }

  return (record, replay, again) => {
    if (!hasValue(record)) {
      if (nullValues === 'skip' && again === undefined) return { skip: 'null_value' };
      return poison('null_value', 'the record has no value');
    }
    const { event, poison: unreadable } = format.read(record);
    if (event === undefined) return { poison: unreadable };
    const input = new EventInput(event, record, topic);
    try {
      if (filter !== undefined && again === undefined && !filter(input)) return FILTERED;
      const content = contentOf(input);
      const type = again?.type ?? types.find(input, false);
      const expected = expectedOf(input);
      const metadata = metadataOf(input);
      const headers = pickHeaders(record.headers, headerNames);
      const { partition, offset, timestampMs, key, value } = record;
      // An expression may make more of an event than it holds.
      const bytes = Math.max(value.length, content.length + (metadata.bytes ?? 0)) + memoryBesideText(metadata.object);
      const item: ContentItem = {
        partition,
        offset,
        timestampMs,
        key: ownKey(key),
        headers,
        type,
        content,
        metadata: metadata.object,
        expected,
        replay,
        bytes: ITEM_OVERHEAD_BYTES + bytes + 2 * (key?.length ?? 0) + headerBytes(headers),
      };
      return { item: withOutputKey(item, input) };
    } catch (error) {
      return poisonOf(error);
    }
  };
}
