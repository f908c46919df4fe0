/** Headers, timestamps and batch bodies that brokers accept but readers may fail on. */
import { gzipSync } from 'node:zlib';
import type { RecordHeaders } from '../../../src/core/record.ts';
import { type RawBatch, rawBatch } from './record-batches.ts';

/** Names of the members that a plain JavaScript object inherits. */
export const OBJECT_MEMBERS = [
  'constructor',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'isPrototypeOf',
  '__proto__',
  '__defineGetter__',
  'toLocaleString',
  'propertyIsEnumerable',
] as const;

/** Unusual header lists for otherwise ordinary records. */
export const ODD_HEADERS: Readonly<Record<string, RecordHeaders>> = {
  'names of object members': OBJECT_MEMBERS.map((name) => [name, 'x']),
  'one name twice and as null': [
    ['twice', 'x'],
    ['twice', 'y'],
    ['twice', null],
  ],
  'an empty name and an empty value': [
    ['', ''],
    ['', null],
  ],
};

/** Returns `count` headers with short names. */
export function manyHeaders(count: number): RecordHeaders {
  return Array.from({ length: count }, (_, index) => [(index % 1_296).toString(36), 'x'] as const);
}

/** Timestamps at both ends of int64, before 1970, and beyond the range of a JavaScript Date. */
export const ODD_TIMESTAMPS = [
  -(2n ** 63n),
  -(2n ** 53n) - 1n,
  -2n,
  -1n,
  0n,
  8_640_000_000_000_001n,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
];

const XERIAL_HEADER_BYTES = 16;

/** Bodies that brokers and Java's consumer accept, but some readers refuse. */
export const MALFORMED_BODIES: Readonly<Record<string, Omit<RawBatch, 'records'>>> = {
  'gzip in two members': {
    codec: 'gzip',
    tamper: (bytes) => Buffer.concat([bytes, gzipSync(Buffer.alloc(0))]),
  },
  'snappy with trailing bytes': {
    codec: 'snappy',
    tamper: (bytes) => Buffer.concat([bytes, Buffer.from([0, 0, 0])]),
  },
  'snappy with two headers': {
    codec: 'snappy',
    tamper: (bytes) => Buffer.concat([bytes.subarray(0, XERIAL_HEADER_BYTES), bytes]),
  },
};

/** Batch with one record of `unpackedBytes` zeros. The compressed batch has only some kilobytes. */
export function bomb(unpackedBytes: number): Buffer {
  return rawBatch({ records: [{ value: Buffer.alloc(unpackedBytes) }], codec: 'zstd' });
}
