/** Values that expressions find, as parts of JSON texts. */
import { isAbsent } from '../../../packages/client/src/base/json/json-text.ts';
import {
  ARRAY,
  LITERAL,
  MISSING,
  NUMBER,
  OBJECT,
  type ScannedValue,
  STRING,
} from '../../../packages/client/src/base/json/scanner.ts';

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

export const EMPTY_OBJECT: ScannedValue = {
  ...{ type: OBJECT, bytes: Buffer.from('{}'), start: 0, end: 2 },
  ...{ hasEscapes: false, levels: 1, members: 0, values: 0 },
};
