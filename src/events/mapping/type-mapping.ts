/** The content type of an event, which reviews and imports share. */
import { isKeptNumber } from '../../base/exact-json.ts';
import { asDouble, digitsOf } from '../expression/exact-number.ts';
import { type EventInput, typeOfFound } from '../expression/index.ts';
import { MappedPart, MappingFailure } from './mapping-failure.ts';

export type TypeSource =
  | { readonly constant: string }
  | {
      readonly field: string;
      /** What the values found stand for. Numbers, true and false are looked up as JSON writes them. */
      readonly map?: Readonly<Record<string, string>> | undefined;
      /** The type of a value that is not in the map, or missing. Absent: it becomes a dead letter. */
      readonly otherwise?: string | undefined;
    };

const OPTION = 'source.mapping.type';
/** It is in the record of the job, in metrics and in each call about the batch: a text that found its way there must not be too large for them. */
const MAX_TYPE_LENGTH = 256;

export interface TypeMapping {
  /** @param accepted the type that the record was accepted with before: it is beyond the list. @throws MappingFailure */
  find(input: EventInput, accepted: boolean): string;
}

/** @throws RangeError on an expression that is none */
export function compileType(
  source: TypeSource,
  allowed: readonly string[] | undefined,
): TypeMapping {
  const find = finder(source);
  const types = allowed === undefined ? undefined : new Set(allowed);
  return {
    find(input, accepted) {
      const type = find(input);
      if (accepted || types === undefined || types.has(type)) return type;
      throw new MappingFailure(
        'type_not_allowed',
        `the content type is none of those allowed: ${[...types].join(', ')}`,
      );
    },
  };
}

function finder(source: TypeSource): (input: EventInput) => string {
  if ('constant' in source) return () => source.constant;
  const part = new MappedPart(source.field, `${OPTION}.field`);
  if (source.map === undefined) {
    return (input) => {
      const type = part.find(input);
      if (typeof type === 'string' && type.length > MAX_TYPE_LENGTH)
        throw part.failure(
          'too_large',
          `has ${type.length} characters, more than the ${MAX_TYPE_LENGTH} of a content type`,
        );
      if (typeof type === 'string' && type !== '') return type;
      throw part.failure(
        'no_type',
        `must be a string that is not empty, but is ${type === '' ? 'empty' : typeOfFound(type)}`,
      );
    };
  }
  const map = new Map(Object.entries(source.map));
  return (input) => {
    // 10.00 is 10 here.
    const value = asDouble(part.find(input));
    const scalar =
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    const text = scalar
      ? String(value)
      : isKeptNumber(value)
        ? digitsOf(value as object)
        : undefined;
    const type = (text === undefined ? undefined : map.get(text)) ?? source.otherwise;
    if (type !== undefined) return type;
    if (value === undefined || value === null)
      throw part.failure(
        'no_type',
        `must be one of the values of ${OPTION}.map, but is ${typeOfFound(value)}`,
      );
    throw part.failure(
      'type_not_allowed',
      `is ${typeOfFound(value)} that ${OPTION}.map does not have`,
    );
  };
}
