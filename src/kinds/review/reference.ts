/**
 * References: the connector's own column, by which a result row is matched to its source record. A
 * small JSON array, written and read once per row, so positional and without empty parts:
 *
 *     [partition, offset, timestamp ms, key, shape, extras]
 *
 * - key: null; a string if its bytes are UTF-8; otherwise an array of one base64 string.
 * - shape: metadata-shape.ts; 0 or absent without metadata columns.
 * - extras: an object, absent when empty: `r` replay, `k` output key, `h` headers as [name, value]
 *   pairs (values are written as keys), `x` the expected result if its cell cannot hold it, `m`
 *   metadata that cells cannot hold, as [key, JSON text] pairs, `f` 1 if an apostrophe was put
 *   before the content (csv-injection.ts), and last `s`, the signature (row-signature.ts).
 */
import { isUtf8 } from 'node:buffer';
import { isJsonText } from '../../base/json/exact-json.ts';
import { err, ok, type Result } from '../../base/result.ts';
import type { ContentItem, Header, RecordHeaders } from '../../core/record.ts';
import type { TerminalSource } from '../../events/terminal-parts.ts';

export interface Reference extends TerminalSource {
  /** undefined: no metadata in columns. */
  readonly shape: string | undefined;
  /** undefined: the Expected result column holds it. */
  readonly expected: string | undefined;
  /** Key and JSON text of metadata that is not in a column. */
  readonly metadata: readonly (readonly [string, string])[] | undefined;
  /** True if the content's cell has an apostrophe before the content. */
  readonly escapedContent: boolean;
}

/** Parts of an item that its cells do not hold. */
export interface CarriedParts {
  readonly expected: string | undefined;
  /** Key and JSON text of metadata. */
  readonly metadata: readonly (readonly [string, string])[] | undefined;
  readonly escapedContent: boolean;
}

/**
 * True if a CSV cell in UTF-8 preserves a text: it has no lone surrogates and no U+0000, which many
 * CSV readers refuse.
 */
export function fitsInCell(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Returns the extras of an item's reference as JSON; undefined if there are none. */
export function extrasJson(
  { replay, outputKey, headers }: ContentItem,
  { expected, metadata, escapedContent }: CarriedParts,
): string | undefined {
  const extras = JSON.stringify({
    r: replay === 0 ? undefined : replay,
    k: outputKey instanceof Buffer ? bytesToJson(outputKey) : outputKey,
    h: headerPairs(headers),
    x: expected,
    m: metadata,
    f: escapedContent ? 1 : undefined,
  });
  return extras === '{}' ? undefined : extras;
}

/** Returns the key of a reference as JSON. */
export function keyJson(key: Buffer): string {
  return JSON.stringify(bytesToJson(key));
}

/** Reads a reference. @returns an error that names the problem without showing the reference */
export function readReference(text: string): Result<Reference> {
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch {
    return err(text.trim() === '' ? 'the reference is empty' : 'the reference is not JSON');
  }
  if (!Array.isArray(parts) || parts.length < 4 || parts.length > 6)
    return err('the reference is not an array of 4 to 6');
  const [partition, offset, timestampMs, rawKey, shape = 0, extras = {}] = parts as unknown[];
  if (!isCount(partition) || !isCount(offset))
    return err('the reference names no partition and offset');
  // Any timestamp of a record batch. Many are not dates.
  if (typeof timestampMs !== 'number' || Math.abs(timestampMs) > 2 ** 63)
    return err('the timestamp is out of range');
  const key = bytesFromJson(rawKey);
  if (key === undefined) return err('the key is neither text nor base64');
  if (shape !== 0 && typeof shape !== 'string') return err('the shape is not a text');
  if (typeof extras !== 'object' || extras === null) return err('the extras are not an object');
  const { r: replay = 0, k, h, x: expected, m: metadata, f } = extras as Record<string, unknown>;
  if (!isCount(replay)) return err('the replay is not a count');
  const outputKey = k === undefined ? undefined : bytesFromJson(k);
  if (k !== undefined && outputKey === undefined)
    return err('the output key is neither text nor base64');
  if (expected !== undefined && typeof expected !== 'string')
    return err('the expected result is not a text');
  if (metadata !== undefined && !isMetadata(metadata))
    return err('the carried metadata is not a list of keys and JSON texts');
  const headers = h === undefined ? undefined : headersFromPairs(h);
  if (headers === null) return err('the headers are not a list of names and values');
  return ok({
    partition,
    offset,
    timestampMs,
    key,
    ...(outputKey === undefined ? {} : { outputKey }),
    shape: shape === 0 ? undefined : shape,
    replay,
    headers,
    expected,
    metadata,
    escapedContent: f === 1,
  });
}

type JsonBytes = string | readonly [string] | null;

function bytesToJson(bytes: Buffer): JsonBytes {
  return isUtf8(bytes) ? bytes.toString('utf8') : [bytes.toString('base64')];
}

function bytesFromJson(json: unknown): Buffer | string | null | undefined {
  if (json === null || typeof json === 'string') return json;
  if (Array.isArray(json) && json.length === 1 && typeof json[0] === 'string')
    return Buffer.from(json[0], 'base64');
  return undefined;
}

function headerPairs(headers: RecordHeaders): [string, JsonBytes][] | undefined {
  if (headers.length === 0) return undefined;
  return headers.map(([name, value]) => [
    name,
    Buffer.isBuffer(value) ? bytesToJson(value) : value,
  ]);
}

function headersFromPairs(pairs: unknown): RecordHeaders | null {
  if (!Array.isArray(pairs)) return null;
  const headers: Header[] = [];
  for (const pair of pairs) {
    if (!Array.isArray(pair) || typeof pair[0] !== 'string') return null;
    const value = bytesFromJson(pair[1]);
    if (value === undefined) return null;
    headers.push([pair[0], value]);
  }
  return headers;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isMetadata(list: unknown): list is [string, string][] {
  return (
    Array.isArray(list) &&
    list.every(
      (pair) =>
        Array.isArray(pair) &&
        typeof pair[0] === 'string' &&
        typeof pair[1] === 'string' &&
        isJsonText(pair[1]),
    )
  );
}
