/** A source record becomes a content item, or a reason why not (DESIGN 3 intake, 4 first row). */
import { isUtf8 } from 'node:buffer';
import type { KindSteps } from '../core/ports/pipeline-kind.ts';
import type { ContentItem, Decoded, HeaderValue, JsonObject, PoisonReason, RecordHeaders } from '../core/record.ts';
import { isKeptNumber, mayLoseDigits, parseKeepingDigits } from './exact-json.ts';
import { isDeeperThan } from './json-depth.ts';
import { type MappingOptions, parsePath, valueAt } from './mapping.ts';

/** Deeper metadata is refused: writing it out again would need a deep stack. */
export const MAX_METADATA_DEPTH = 64;

/** Counted per item beside its own bytes: the reference, delimiters, and the objects that hold it. */
const ITEM_OVERHEAD_BYTES = 128;

const NO_HEADERS: RecordHeaders = Object.freeze({});

export type Decoder = KindSteps['decode'];

/** Builds the decoder of one mapping. The decoder never throws, and its messages never show what a record holds (I6). */
export function createDecoder(mapping: MappingOptions): Decoder {
  const contentPath = parsePath(mapping.content);
  const metadataPath = parsePath(mapping.metadata);
  const expectedPath = parsePath(mapping.expected);
  const typePath = 'field' in mapping.type ? parsePath(mapping.type.field) : undefined;
  const constantType = 'constant' in mapping.type ? mapping.type.constant : undefined;
  const allowedTypes = mapping.allowedTypes === undefined ? undefined : new Set(mapping.allowedTypes);
  const { headers: headerNames, nullValues, maxContentBytes } = mapping;

  return (record, replay, again) => {
    const { value } = record;
    if (value === null) {
      if (nullValues === 'skip' && again === undefined) return { skip: 'null_value' };
      return poison('null_value', 'the record has no value');
    }
    if (!isUtf8(value)) return poison('not_json', 'the value is not JSON: its bytes are not UTF-8');
    const text = value.toString('utf8');
    let document: unknown;
    try {
      document = JSON.parse(text);
    } catch {
      return poison('not_json', 'the value is not JSON');
    }
    if (typeof document !== 'object' || document === null || Array.isArray(document)) {
      return poison('not_an_object', `the value is JSON, but ${nameOf(document)} and not an object`);
    }

    const content = valueAt(document, contentPath);
    if (typeof content !== 'string') {
      return poison('no_content', `"${mapping.content}" must be a string, but is ${nameOf(content)}`);
    }
    if (content === '') return poison('empty_content', `"${mapping.content}" is an empty string`);
    // A UTF-16 unit becomes at most three bytes: short texts need no count.
    if (content.length * 3 > maxContentBytes && Buffer.byteLength(content) > maxContentBytes) {
      const bytes = Buffer.byteLength(content);
      return poison('too_large', `"${mapping.content}" has ${bytes} bytes, more than the ${maxContentBytes} allowed`);
    }

    let type: unknown = again?.type ?? constantType;
    if (type === undefined && typePath !== undefined) type = valueAt(document, typePath);
    if (typeof type !== 'string' || type === '') {
      const path = typePath?.join('.') ?? 'type';
      return poison('no_type', `"${path}" must be a string that is not empty, but is ${type === '' ? 'empty' : nameOf(type)}`);
    }
    if (again === undefined && allowedTypes !== undefined && !allowedTypes.has(type)) {
      return poison('type_not_allowed', `the content type is none of those allowed: ${[...allowedTypes].join(', ')}`);
    }

    const expected = valueAt(document, expectedPath) ?? undefined;
    if (expected !== undefined && typeof expected !== 'string') {
      return poison('bad_metadata', `"${mapping.expected}" must be a string, but is ${nameOf(expected)}`);
    }

    let metadata = valueAt(document, metadataPath) ?? {};
    if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
      return poison('bad_metadata', `"${mapping.metadata}" must be an object, but is ${nameOf(metadata)}`);
    }
    if (isDeeperThan(metadata, MAX_METADATA_DEPTH)) {
      return poison('bad_metadata', `"${mapping.metadata}" is nested deeper than ${MAX_METADATA_DEPTH} levels`);
    }
    if (hasNumber(metadata) && mayLoseDigits(text)) {
      const exact = keepDigits(text, metadataPath);
      if (exact === undefined) return poison('bad_metadata', 'the value is nested too deeply to keep the digits of its numbers');
      metadata = exact;
    }

    const headers = headerNames.length === 0 ? NO_HEADERS : pickHeaders(record.headers, headerNames);
    const item: ContentItem = {
      partition: record.partition,
      offset: record.offset,
      timestampMs: record.timestampMs,
      key: record.key === null ? null : own(record.key),
      headers,
      type,
      content,
      metadata: metadata as JsonObject,
      expected,
      replay,
      bytes: ITEM_OVERHEAD_BYTES + value.length + 2 * (record.key?.length ?? 0) + headerBytes(headers),
    };
    return { item };
  };
}

/** A copy: a slice of a fetched response would keep the whole response, a megabyte, alive for as long as the item waits. */
const own = (bytes: Buffer): Buffer => Buffer.from(bytes);
const ownValue = (value: Buffer | string): Buffer | string => (typeof value === 'string' ? value : own(value));

function poison(reason: PoisonReason, message: string): Decoded {
  return { poison: { reason, message } };
}

/** The JSON type of a value, for messages. */
function nameOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function hasNumber(value: object): boolean {
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof member === 'number') return true;
    if (typeof member === 'object' && member !== null && hasNumber(member)) return true;
  }
  return false;
}

/** The reviver recurses over the whole document, which outside the metadata may be as deep as it likes. */
function keepDigits(text: string, metadataPath: readonly string[]): object | undefined {
  try {
    const metadata = valueAt(parseKeepingDigits(text) as object, metadataPath);
    return typeof metadata === 'object' && metadata !== null && !isKeptNumber(metadata) ? metadata : undefined;
  } catch {
    return undefined;
  }
}

function pickHeaders(headers: RecordHeaders, names: readonly string[]): RecordHeaders {
  const picked: [string, HeaderValue | undefined][] = [];
  for (const name of names) {
    if (!Object.hasOwn(headers, name)) continue;
    const value = headers[name];
    picked.push([name, Array.isArray(value) ? value.map(ownValue) : value && ownValue(value as Buffer | string)]);
  }
  return picked.length === 0 ? NO_HEADERS : Object.fromEntries(picked);
}

function headerBytes(headers: RecordHeaders): number {
  if (headers === NO_HEADERS) return 0;
  let bytes = 0;
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    for (const one of Array.isArray(value) ? value : [value]) bytes += 2 * (name.length + (one?.length ?? 0)) + 8;
  }
  return bytes;
}
