/** The metadata of a content event: what its decision brings back. */
import { valueLengthOf } from '../../../core/bytes/record-view.ts';
import type { JsonObject } from '../../../core/record.ts';
import type { EventInput } from '../../../events/expression/index.ts';
import { MappingFailure } from '../../../events/mapping/mapping-failure.ts';
import {
  compileObject,
  type Flattening,
  flattened,
  jsonBytes,
} from '../../../events/mapping/object-mapping.ts';
import type { MappingOptions } from '../mapping.ts';

export interface Metadata {
  readonly object: JsonObject;
  /** Undefined when it is no larger than the event's own bytes. */
  readonly bytes: number | undefined;
}

const OPTION = 'source.mapping.metadata';
/** A member of JSON has at least so many bytes: `"":0,`. */
const LEAST_MEMBER_BYTES = 5;
/** Formats whose values are about as long as their JSON. */
const TEXTUAL = new Set(['json', 'text', 'json-schema', 'cloudevents']);

type Options = Pick<
  MappingOptions,
  'metadata' | 'flattenWith' | 'maxMetadataBytes' | 'maxMetadataKeys' | 'format'
>;

/** @throws RangeError on an expression that is none; what it returns throws MappingFailure */
export function compileMetadata(options: Options): (input: EventInput) => Metadata {
  const { flattenWith, maxMetadataBytes: maxBytes, maxMetadataKeys: maxKeys } = options;
  const mapping = compileObject(options.metadata, {
    option: OPTION,
    required: false,
    reason: 'bad_metadata',
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
