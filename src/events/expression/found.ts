/** Values that expressions find, as parts of JSON texts. */
import { isAbsent } from '../../base/json/json-text.ts';
import {
  ARRAY,
  LITERAL,
  MISSING,
  NUMBER,
  OBJECT,
  type ScannedValue,
  STRING,
} from '../../base/json/scanner.ts';

const NAMES: Readonly<Record<number, string>> = {
  [MISSING]: 'missing',
  [STRING]: 'a string',
  [NUMBER]: 'a number',
  [LITERAL]: 'a boolean',
  [OBJECT]: 'an object',
  [ARRAY]: 'an array',
};

/** Returns the JSON type of a value that was found, for messages. */
export function typeOfFound(value: ScannedValue): string {
  const isNull = value.type === LITERAL && isAbsent(value);
  return isNull ? 'null' : (NAMES[value.type] as string);
}

/** Value that is not there. */
export const NOTHING: ScannedValue = scalar(MISSING, '');
export const NULL: ScannedValue = scalar(LITERAL, 'null');
export const TRUE: ScannedValue = scalar(LITERAL, 'true');
export const FALSE: ScannedValue = scalar(LITERAL, 'false');
export const EMPTY_OBJECT: ScannedValue = { ...scalar(OBJECT, '{}'), levels: 1 };

function scalar(type: number, json: string): ScannedValue {
  const bytes = Buffer.from(json);
  const counts = { levels: 0, members: 0, values: 0 };
  return { type, bytes, start: 0, end: bytes.length, hasEscapes: false, ...counts };
}
