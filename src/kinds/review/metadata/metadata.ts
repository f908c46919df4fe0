/** Metadata of a content event, which its decision repeats. */
import type { ScannedValue } from '../../../base/json/scanner.ts';
import type { JsonPart } from '../../../core/record.ts';
import type { EventInput } from '../../../events/expression/index.ts';
import { flattened } from '../../../events/mapping/flattening.ts';
import { MappingFailure } from '../../../events/mapping/mapping-failure.ts';
import { compileObject } from '../../../events/mapping/object-mapping.ts';
import { partOf } from '../../../events/record-decoder.ts';
import type { MappingOptions } from '../mapping.ts';

const OPTION = 'source.mapping.metadata';
/** Most members and elements of metadata, at any level. */
const MAX_VALUES = 100_000;

type MetadataMapping = Pick<
  MappingOptions,
  'metadata' | 'flattenWith' | 'maxMetadataBytes' | 'maxMetadataKeys'
>;

/** @throws RangeError for an invalid expression; the returned function throws MappingFailure */
export function compileMetadata(
  { metadata, flattenWith, maxMetadataBytes: maxBytes, maxMetadataKeys: maxKeys }: MetadataMapping,
  input: EventInput,
): () => JsonPart {
  const rules = { option: OPTION, required: false, reason: 'bad_metadata', maxBytes } as const;
  const find = compileObject(metadata, rules, input);
  if (flattenWith === undefined) {
    return () => {
      const found = find();
      check(found, maxBytes, maxKeys);
      return partOf(found);
    };
  }
  input.isParsed = true;
  const flattening = {
    separator: flattenWith,
    maxKeys,
    maxKeyLength: maxBytes,
    option: OPTION,
    reason: 'bad_metadata',
  } as const;
  return () => {
    const found = find();
    check(found, maxBytes, Infinity);
    const flat =
      found.levels > 1 ? flattened(input.parsed(found) as object, flattening) : undefined;
    const whole = flat === undefined ? found : input.made(Buffer.from(JSON.stringify(flat)));
    check(whole, maxBytes, maxKeys);
    return partOf(whole);
  };
}

/** @throws MappingFailure when metadata is too large */
function check(
  { start, end, members, values }: ScannedValue,
  maxBytes: number,
  maxKeys: number,
): void {
  if (members > maxKeys) throw tooLarge(`has ${members} keys, more than the ${maxKeys} allowed`);
  if (end - start > maxBytes) throw tooLarge(`has more than the ${maxBytes} bytes allowed`);
  if (values > MAX_VALUES)
    throw tooLarge(`has more than ${MAX_VALUES} members and elements, at all levels`);
}

const tooLarge = (what: string): MappingFailure =>
  new MappingFailure('too_large', `the metadata ${what} (${OPTION})`);
