/** Content type of an event, which reviews and imports share. */
import { asDouble, scalarText } from '../expression/exact-number.ts';
import { type EventInput, typeOfFound } from '../expression/index.ts';
import { MappedPart, MappingFailure } from './mapping-failure.ts';

export type TypeSource =
  | { readonly constant: string }
  | {
      readonly field: string;
      /** Types of the values found. Numbers, true and false are looked up as JSON writes them. */
      readonly map?: Readonly<Record<string, string>> | undefined;
      /** The type of a value that is not in the map, or missing. Absent: a dead letter. */
      readonly otherwise?: string | undefined;
    };

const OPTION = 'source.mapping.type';
/** It is in the record of the job, in metrics and in each call about the batch. */
const MAX_TYPE_LENGTH = 256;

/**
 * Its result's argument `accepted`: before, so that the list of allowed types does not apply.
 * @throws RangeError on an invalid expression; its result MappingFailure
 */
export function compileType(source: TypeSource, allowed: readonly string[] | undefined) {
  const find = finder(source);
  return (input: EventInput, accepted: boolean): string => {
    const type = find(input);
    if (accepted || allowed === undefined || allowed.includes(type)) return type;
    const message = `the content type is not one of those allowed: ${allowed.join(', ')}`;
    throw new MappingFailure('type_not_allowed', message);
  };
}

function finder(source: TypeSource): (input: EventInput) => string {
  if ('constant' in source) return () => source.constant;
  const { map, otherwise, field } = source;
  const part = new MappedPart(field, `${OPTION}.field`);
  return (input) => {
    const found = part.find(input);
    if (map === undefined) {
      const wanted = 'a non-empty string';
      if (found === '') throw part.failure('no_type', `must be ${wanted}, but is empty`);
      if (typeof found !== 'string') throw part.mismatch('no_type', wanted, found);
      part.limit(found.length, MAX_TYPE_LENGTH, 'characters', 'of a content type');
      return found;
    }
    // 10.00 is 10 here.
    const text = scalarText(asDouble(found));
    const type = text !== undefined && Object.hasOwn(map, text) ? map[text] : otherwise;
    if (type !== undefined) return type;
    const is = typeOfFound(found);
    throw found === undefined || found === null
      ? part.failure('no_type', `must be one of the values of ${OPTION}.map, but is ${is}`)
      : part.failure('type_not_allowed', `is ${is} that ${OPTION}.map does not have`);
  };
}
