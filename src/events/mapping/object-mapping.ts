/** A part of an event that is an object: found whole, or put together from chosen fields; nested as it is, or flattened. */
import { isKeptNumber } from '../../base/exact-json.ts';
import { isDeeperThan, MAX_DEPTH } from '../../base/json-depth.ts';
import type { DeadLetterReason } from '../../core/record.ts';
import { type EventInput, typeOfFound } from '../expression/index.ts';
import { MappedPart, MappingFailure } from './mapping-failure.ts';

/** An expression, or one for each field of the object. */
export type ObjectSource = string | { readonly fields: Readonly<Record<string, string>> };

export interface ObjectMapping {
  /** Whether the event has it as it is: then it is no larger than the event. */
  readonly isPath: boolean;
  /** With all digits of its numbers; an empty one when the event has none and need not. @throws MappingFailure */
  find(input: EventInput): object;
}

/** What holds when it is not as it must be. */
export interface ObjectRules {
  /** Where its expressions are written. */
  readonly option: string;
  /** Whether every event must have it. */
  readonly required: boolean;
  readonly reason: DeadLetterReason;
}

/** @throws RangeError on an expression that is none */
export function compileObject(source: ObjectSource, rules: ObjectRules): ObjectMapping {
  return typeof source === 'string'
    ? wholeObject(source, rules)
    : chosenFields(source.fields, rules);
}

function wholeObject(text: string, { option, required, reason }: ObjectRules): ObjectMapping {
  const part = new MappedPart(text, option);
  return {
    isPath: part.isPath,
    find(input) {
      const found = part.find(input);
      if ((found === undefined || found === null) && !required) return {};
      if (
        typeof found !== 'object' ||
        found === null ||
        Array.isArray(found) ||
        isKeptNumber(found)
      ) {
        throw part.failure(reason, `must be an object, but is ${typeOfFound(found)}`);
      }
      if (isDeeperThan(found, MAX_DEPTH))
        throw part.failure(reason, `is nested deeper than ${MAX_DEPTH} levels`);
      return part.isPath ? (part.exactly(input, reason) as object) : found;
    },
  };
}

/** A path that leads nowhere leaves its field out, and so does an expression that gives null. */
function chosenFields(
  fields: Readonly<Record<string, string>>,
  { option, reason }: ObjectRules,
): ObjectMapping {
  const parts = Object.entries(fields).map(([name, text]) => ({
    name,
    part: new MappedPart(text, `${option}.fields.${name}`),
  }));
  return {
    isPath: false,
    find(input) {
      const entries: [string, unknown][] = [];
      for (const { name, part } of parts) {
        const found = part.find(input);
        if (found === undefined || (found === null && !part.isPath)) continue;
        if (isDeeperThan(found, MAX_DEPTH - 1))
          throw part.failure(reason, `is nested deeper than ${MAX_DEPTH - 1} levels`);
        entries.push([name, part.isPath ? part.exactly(input, reason) : found]);
      }
      return Object.fromEntries(entries);
    },
  };
}

/** How an object is flattened. */
export interface Flattening {
  readonly separator: string;
  readonly maxKeys: number;
  /** Of all keys together, in UTF-16 units: a long name stands before each that is in it. */
  readonly maxKeyLength: number;
  /** Where its expressions are written. */
  readonly option: string;
  readonly reason: DeadLetterReason;
}

/**
 * Nested objects as keys of their own, `author.id`. Lists stay what they are, and so do objects without members.
 * @throws MappingFailure when two keys would be one, or they would be too many or too long
 */
export function flattened(
  object: object,
  { separator, maxKeys, maxKeyLength, option, reason }: Flattening,
): object {
  if (!Object.values(object).some(isNested)) return object;
  const flat = new Map<string, unknown>();
  let keyLength = 0;
  const add = (prefix: string, members: object): void => {
    for (const [name, member] of Object.entries(members)) {
      const key = prefix + name;
      if (isNested(member)) {
        add(key + separator, member);
        continue;
      }
      keyLength += key.length;
      if (flat.size >= maxKeys || keyLength > maxKeyLength) {
        const [most, what] = flat.size >= maxKeys ? [maxKeys, 'keys'] : [maxKeyLength, 'bytes'];
        throw new MappingFailure(
          'too_large',
          `flattened, it has more than the ${most} ${what} allowed (${option})`,
        );
      }
      if (flat.has(key)) {
        throw new MappingFailure(
          reason,
          `two of its members have one name when it is flattened with "${separator}" (${option})`,
        );
      }
      flat.set(key, member);
    }
  };
  add('', object);
  return Object.fromEntries(flat);
}

function isNested(member: unknown): member is object {
  if (
    typeof member !== 'object' ||
    member === null ||
    Array.isArray(member) ||
    isKeptNumber(member)
  )
    return false;
  for (const _ in member) return true;
  return false;
}

/**
 * Bytes of a value of JSON as UTF-8, escapes not counted; looks no further once they are more than `limit`. An expression may name the
 * same large part of an event a thousand times.
 */
export function jsonBytes(value: unknown, limit: number): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && bytes <= limit; at++)
      bytes += 1 + jsonBytes(value[at], limit - bytes - 1);
    return bytes;
  }
  for (const name in value) {
    if (bytes > limit) break;
    bytes += 4 + Buffer.byteLength(name);
    bytes += jsonBytes((value as Readonly<Record<string, unknown>>)[name], limit - bytes);
  }
  return bytes;
}
