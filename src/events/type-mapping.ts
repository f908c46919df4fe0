/** Mapping of an event's content type, for reviews and imports. */
import {
  isAbsent,
  textOfString,
  writtenText,
} from '../../packages/client/src/base/json/json-text.ts';
import {
  LITERAL,
  NUMBER,
  type ScannedValue,
  STRING,
} from '../../packages/client/src/base/json/scanner.ts';
import type { EventInput } from './expression/index.ts';
import { typeOfFound } from './expression/input.ts';
import { MappedPart, MappingFailure } from './mapping-failure.ts';

export type TypeSource =
  | { readonly constant: string }
  | {
      readonly field: string;
      /** Content types by the value found. Numbers, true and false are looked up by their JSON text. */
      readonly map?: Readonly<Record<string, string>> | undefined;
      /** Content type for a value that is missing or not in the map. If absent, the record becomes a dead letter. */
      readonly otherwise?: string | undefined;
    };

const OPTION = 'source.mapping.type';
/** Maximum length of a content type. Types are part of journal records, metrics, and each call about a batch. */
const MAX_TYPE_LENGTH = 256;

/**
 * Compiles a mapping. The function returns the content type of the current event, or throws
 * MappingFailure. If its argument `accepted` is true, the event was accepted before, and the list
 * of allowed types does not apply.
 * @throws RangeError for an invalid expression
 */
export function compileType(
  source: TypeSource,
  allowed: readonly string[] | undefined,
  input: EventInput,
): (accepted: boolean) => string {
  const find = finder(source, input);
  return (accepted) => {
    const type = find();
    if (accepted || allowed === undefined || allowed.includes(type)) return type;
    const message = `the content type is not in the allowed list: ${allowed.join(', ')}`;
    throw new MappingFailure('type_not_allowed', message);
  };
}

function finder(source: TypeSource, input: EventInput): () => string {
  if ('constant' in source) return () => source.constant;
  const { map, otherwise, field } = source;
  const part = new MappedPart(field, `${OPTION}.field`, input);
  return () => {
    const found = part.find();
    const text = scalarText(found);
    if (map === undefined) {
      if (found.type !== STRING || text === undefined)
        throw part.mismatch('no_type', 'a non-empty string', found);
      if (text === '') throw part.failure('no_type', 'must be a non-empty string, but is empty');
      part.limit(text.length, MAX_TYPE_LENGTH, 'characters', 'of a content type');
      return text;
    }
    const type = text !== undefined && Object.hasOwn(map, text) ? map[text] : otherwise;
    if (type !== undefined) return type;
    const is = typeOfFound(found);
    throw isAbsent(found)
      ? part.failure('no_type', `must be one of the keys of ${OPTION}.map, but is ${is}`)
      : part.failure('type_not_allowed', `is ${is} that is not in ${OPTION}.map`);
  };
}

/** Returns a string, a number, true or false as a string, otherwise undefined. 10.00 becomes 10. */
function scalarText(found: ScannedValue): string | undefined {
  if (found.type === STRING) return textOfString(found);
  if (found.type === NUMBER) return String(Number(writtenText(found)));
  return found.type === LITERAL && !isAbsent(found) ? writtenText(found) : undefined;
}
