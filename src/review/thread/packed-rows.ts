/**
 * The rows of a slice as they cross from one thread to the other: numbers and bytes in two buffers that change hands without
 * a copy. Objects would be written and read one by one, which costs as much as reading the CSV.
 */
import type { BrokenRow, MalformedRow, ReadRow, ResultRow } from '../../core/read-row.ts';
import type { Header, RecordHeaders } from '../../core/record.ts';

export interface PackedRows {
  /** Per row: partition, offset, 1 for an error, which of the results (-1: none), bytes of the key, bytes of the value (-1: null). */
  readonly numbers: Float64Array<ArrayBuffer>;
  /** Key and value of each row, one behind the other. */
  readonly bytes: ArrayBuffer;
  readonly headers: readonly (RecordHeaders | undefined)[];
  /** Each once. */
  readonly results: readonly string[];
  readonly malformed: readonly MalformedRow[];
  readonly broken: readonly BrokenRow[];
}

const NUMBERS = 6;
const NULL = -1;
const NONE = -1;

/** Malformed and broken rows come last. @returns the rows, and what to transfer with them. */
export function packRows(rows: readonly ReadRow[]): { rows: PackedRows; transfer: ArrayBuffer[] } {
  const malformed: MalformedRow[] = [];
  const broken: BrokenRow[] = [];
  const whole: ResultRow[] = [];
  for (const row of rows) {
    if ('malformed' in row) malformed.push(row);
    else if ('poison' in row) broken.push(row);
    else whole.push(row);
  }
  const results = new Map<string, number>();
  const numbers = new Float64Array(whole.length * NUMBERS);
  let size = 0;
  let at = 0;
  for (const { partition, offset, status, result, record } of whole) {
    const keyBytes = lengthOf(record.key);
    const valueBytes = lengthOf(record.value);
    numbers[at++] = partition;
    numbers[at++] = offset;
    numbers[at++] = status === 'error' ? 1 : 0;
    numbers[at++] = result === undefined ? NONE : numberOf(result, results);
    numbers[at++] = keyBytes;
    numbers[at++] = valueBytes;
    size += Math.max(0, keyBytes) + Math.max(0, valueBytes);
  }
  const packed = Buffer.from(new ArrayBuffer(size));
  let end = 0;
  for (const { record } of whole) {
    end += put(packed, record.key, end);
    end += put(packed, record.value, end);
  }
  const headers = whole.map(({ record }) => (record.headers === undefined ? undefined : movable(record.headers)));
  return {
    rows: { numbers, bytes: packed.buffer, headers, results: [...results.keys()], malformed, broken },
    transfer: [numbers.buffer, packed.buffer],
  };
}

/** The rows that were packed. Keys and values are views of the one buffer. */
export function unpackRows({ numbers, bytes, headers, results, malformed, broken }: PackedRows): ReadRow[] {
  const rows: ReadRow[] = [];
  let end = 0;
  const take = (length: number): Buffer | null => {
    if (length === NULL) return null;
    end += length;
    return Buffer.from(bytes, end - length, length);
  };
  for (let row = 0, at = 0; at < numbers.length; row++, at += NUMBERS) {
    const part = numbers.subarray(at, at + NUMBERS);
    const [partition = 0, offset = 0, failed, decided = NONE, keyBytes = NULL, valueBytes = NULL] = part;
    const key = take(keyBytes);
    const value = take(valueBytes);
    const named = headers[row];
    const record = named === undefined ? { key, value } : { key, value, headers: restored(named) };
    rows.push({ partition, offset, status: failed === 1 ? 'error' : 'success', result: results[decided], record });
  }
  rows.push(...malformed, ...broken);
  return rows;
}

/** The same number for the same text, counted from 0. */
function numberOf(text: string, known: Map<string, number>): number {
  const number = known.get(text) ?? known.size;
  known.set(text, number);
  return number;
}

function lengthOf(text: Buffer | string | null): number {
  if (text === null) return NULL;
  return typeof text === 'string' ? Buffer.byteLength(text) : text.length;
}

function put(into: Buffer, text: Buffer | string | null, at: number): number {
  if (text === null) return 0;
  return typeof text === 'string' ? into.write(text, at) : text.copy(into, at);
}

/** A Buffer is often a small part of a shared one, which would go with it whole. */
const movable = (headers: RecordHeaders): RecordHeaders =>
  eachBytes(headers, (bytes) => Buffer.from(new Uint8Array(bytes).buffer));
/** What left as a Buffer arrives as a plain array of bytes. */
const restored = (headers: RecordHeaders): RecordHeaders =>
  eachBytes(headers, (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));

/** Most headers are texts, and are given back as they are. */
function eachBytes(headers: RecordHeaders, change: (bytes: Uint8Array) => Buffer): RecordHeaders {
  const isPlain = (value: Header[1]) => value === null || typeof value === 'string';
  if (headers.every(([, value]) => isPlain(value))) return headers;
  return headers.map(([name, value]) => [name, value === null || typeof value === 'string' ? value : change(value)]);
}
