/** Content type of an event, which reviews and imports share. */
import {
  isAbsent,
  textOfString,
  writtenText,
} from '../../packages/client/src/base/json/json-text.ts';
import {
  LITERAL,
  MISSING,
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
      /** Types of the values found. Numbers, true and false are looked up as JSON writes them. */
      readonly map?: Readonly<Record<string, string>> | undefined;
      /** The type of a value that is not in the map, or missing. Absent: a dead letter. */
      readonly otherwise?: string | undefined;
    };

const OPTION = 'source.mapping.type';
/** It is in the record of the job, in metrics and in each call about the batch. */
const MAX_TYPE_LENGTH = 256;

/**
 * Compiles a mapping. The function finds the type of the current event. Its argument `accepted`:
 * before, so that the list of allowed types does not apply. It throws MappingFailure.
 * @throws RangeError on an invalid expression
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
    const message = `the content type is not one of those allowed: ${allowed.join(', ')}`;
    throw new MappingFailure('type_not_allowed', message);
  };
}

function finder(source: TypeSource, input: EventInput): () => string {
  if ('constant' in source) return () => source.constant;
  const { map, otherwise, field } = source;
  const part = new MappedPart(field, `${OPTION}.field`, input);
  const last = new LastText();
  return () => {
    const found = part.find();
    const text = last.of(found);
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
      ? part.failure('no_type', `must be one of the values of ${OPTION}.map, but is ${is}`)
      : part.failure('type_not_allowed', `is ${is} that ${OPTION}.map does not have`);
  };
}

/** Text of the value found last, which many events share: its string is not made again. */
class LastText {
  readonly #json = Buffer.alloc(MAX_TYPE_LENGTH);
  #length = -1;
  #text: string | undefined;

  of(found: ScannedValue): string | undefined {
    // A missing value has the place of one before.
    if (found.type === MISSING) return undefined;
    const { bytes, start, end } = found;
    const json = this.#json;
    const length = end - start;
    let same = 0;
    if (length === this.#length) while (same < length && bytes[start + same] === json[same]) same++;
    if (same === length) return this.#text;
    this.#text = scalarText(found);
    this.#length = length > json.length ? -1 : bytes.copy(json, 0, start, end);
    return this.#text;
  }
}

/** Returns a string, a number, true or false as text; undefined for anything else. 10.00 is 10 here. */
function scalarText(found: ScannedValue): string | undefined {
  if (found.type === STRING) return textOfString(found);
  if (found.type === NUMBER) return String(Number(writtenText(found)));
  return found.type === LITERAL && !isAbsent(found) ? writtenText(found) : undefined;
}
