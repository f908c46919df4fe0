/** Metadata of a content event, which its decision repeats. */
import { valueLengthOf } from '../../../core/bytes/record-view.ts';
import type { JsonObject } from '../../../core/record.ts';
import type { EventInput } from '../../../events/expression/index.ts';
import { jsonBytes } from '../../../events/json-memory.ts';
import { MappingFailure } from '../../../events/mapping/mapping-failure.ts';
import {
  compileObject,
  type Flattening,
  flattened,
} from '../../../events/mapping/object-mapping.ts';
import type { MappingOptions } from '../mapping.ts';

interface EventMetadata {
  readonly object: JsonObject;
  /** Size of its JSON; undefined if it is not larger than the event. */
  readonly bytes: number | undefined;
}

const OPTION = 'source.mapping.metadata';
/** Bytes of the smallest JSON member: `"":0,`. */
const LEAST_MEMBER_BYTES = 5;
/** Formats whose values are about as large as their JSON. */
const TEXTUAL = new Set(['json', 'text', 'json-schema', 'cloudevents']);

type MetadataMapping = Pick<
  MappingOptions,
  'metadata' | 'flattenWith' | 'maxMetadataBytes' | 'maxMetadataKeys' | 'format'
>;

/** @throws RangeError for an invalid expression; the returned function throws MappingFailure */
export function compileMetadata(options: MetadataMapping): (input: EventInput) => EventMetadata {
  const { flattenWith, maxMetadataBytes: maxBytes, maxMetadataKeys: maxKeys } = options;
  const mapping = compileObject(options.metadata, {
    option: OPTION,
    required: false,
    reason: 'bad_metadata',
    maxBytes,
  });
  const flattening: Flattening | undefined =
    flattenWith === undefined
      ? undefined
      : {
          separator: flattenWith,
          maxKeys,
          maxKeyLength: maxBytes,
          option: OPTION,
          reason: 'bad_metadata',
        };
  const asItIs = mapping.isPath && flattenWith === undefined && TEXTUAL.has(options.format.name);

  return (input) => {
    const found = mapping.find(input);
    const valueBytes = valueLengthOf(input.record);
    if (asItIs && valueBytes <= maxBytes && valueBytes <= maxKeys * LEAST_MEMBER_BYTES) {
      return { object: found as JsonObject, bytes: undefined };
    }
    const object = flattening === undefined ? found : flattened(found, flattening);
    const keys = Object.keys(object).length;
    if (keys > maxKeys)
      throw new MappingFailure(
        'too_large',
        `the metadata has ${keys} keys, more than the ${maxKeys} allowed (${OPTION})`,
      );
    const bytes = jsonBytes(object, maxBytes);
    if (bytes > maxBytes)
      throw new MappingFailure(
        'too_large',
        `the metadata has more than the ${maxBytes} bytes allowed (${OPTION})`,
      );
    return { object: object as JsonObject, bytes };
  };
}
