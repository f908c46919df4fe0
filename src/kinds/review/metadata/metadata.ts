/** Metadata of a content event, which its decision repeats. */
import type { ScannedValue } from '../../../../packages/client/src/base/json/scanner.ts';
import type { JsonPart } from '../../../core/record.ts';
import type { EventInput } from '../../../events/expression/index.ts';
import { MappingFailure } from '../../../events/mapping/mapping-failure.ts';
import { compileObject } from '../../../events/mapping/object-mapping.ts';
import { partOf } from '../../../events/record-decoder.ts';
import type { MappingOptions } from '../mapping.ts';

const OPTION = 'source.mapping.metadata';
/** Most members and elements of metadata, at any level. */
const MAX_VALUES = 100_000;

const MAX_KEYS = 1_000;

/** @throws RangeError for an invalid expression; the returned function throws MappingFailure */
export function compileMetadata(
  { metadata, maxMetadataBytes: maxBytes }: Pick<MappingOptions, 'metadata' | 'maxMetadataBytes'>,
  input: EventInput,
): () => JsonPart {
  const rules = { option: OPTION, required: false, reason: 'bad_metadata', maxBytes } as const;
  const find = compileObject(metadata, rules, input);
  return () => {
    const found = find();
    check(found, maxBytes);
    return partOf(found);
  };
}

/** @throws MappingFailure when metadata is too large */
function check({ start, end, members, values }: ScannedValue, maxBytes: number): void {
  if (members > MAX_KEYS) throw tooLarge(`has ${members} keys, more than the ${MAX_KEYS} allowed`);
  if (end - start > maxBytes) throw tooLarge(`has more than the ${maxBytes} bytes allowed`);
  if (values > MAX_VALUES)
    throw tooLarge(`has more than ${MAX_VALUES} members and elements, at all levels`);
}

const tooLarge = (what: string): MappingFailure =>
  new MappingFailure('too_large', `the metadata ${what} (${OPTION})`);
