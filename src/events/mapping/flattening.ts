/** Nested objects as members of their own: `author.id`. */
import { isObject } from '../../base/json/is-object.ts';
import { isKeptNumber } from '../../base/json/kept-number.ts';
import { objectOf } from '../../base/json/members.ts';
import type { DeadLetterReason } from '../../core/outcome/dead-letter-reason.ts';
import { MappingFailure } from './mapping-failure.ts';

/** Settings for flattening an object. */
export interface Flattening {
  readonly separator: string;
  readonly maxKeys: number;
  /** Length of all keys together, in UTF-16 units: a long name is repeated in each key below it. */
  readonly maxKeyLength: number;
  /** Option of its expressions. */
  readonly option: string;
  readonly reason: DeadLetterReason;
}

/**
 * Nested objects as keys of their own. Lists, and objects without members, stay.
 * @throws MappingFailure when two keys would be one, or they would be too many or too long
 */
export function flattened(
  object: object,
  { separator, maxKeys, maxKeyLength, option, reason }: Flattening,
): object {
  const flat = new Map<string, unknown>();
  let keyLength = 0;
  const fail = (because: DeadLetterReason, what: string): never => {
    throw new MappingFailure(because, `${what} (${option})`);
  };
  const add = (prefix: string, members: object): void => {
    for (const name in members) {
      const member = (members as Readonly<Record<string, unknown>>)[name];
      // Before the key is made: the names around it may be long.
      keyLength += prefix.length + name.length;
      const tooMany = 'flattened, it has more than the';
      if (keyLength > maxKeyLength) fail('too_large', `${tooMany} ${maxKeyLength} bytes allowed`);
      const key = prefix + name;
      if (isNested(member)) {
        add(key + separator, member);
        continue;
      }
      if (flat.size >= maxKeys) fail('too_large', `${tooMany} ${maxKeys} keys allowed`);
      if (flat.has(key))
        fail(reason, `two of its members have one name when it is flattened with "${separator}"`);
      flat.set(key, member);
    }
  };
  add('', object);
  return objectOf(flat);
}

function isNested(member: unknown): member is object {
  if (!isObject(member) || isKeptNumber(member as unknown)) return false;
  for (const _ in member as object) return true;
  return false;
}
