/** Arbitraries of records that hostile producers may write: any bytes, text, headers and nulls. */
import fc from 'fast-check';
import type { Header, OutgoingRecord } from '../../../src/core/record.ts';
import { anyCharacter } from '../any-character.ts';

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
/** Strings with unpaired surrogates, and strings with lengths at which a varint grows. */
const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 100 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
    .map((units) => String.fromCharCode(...units)),
  fc.integer({ min: 60, max: 70 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 8_188, max: 8_196 }).map((length) => 'x'.repeat(length)),
);
const part = fc.oneof(
  { weight: 4, arbitrary: bytes },
  { weight: 4, arbitrary: text },
  { weight: 1, arbitrary: fc.constant(null) },
);
const name = fc.oneof(text, fc.constantFrom('', '__proto__', 'constructor', 'toString', 'twice'));
const header: fc.Arbitrary<Header> = fc.tuple(name, part);

export const hostileRecord: fc.Arbitrary<OutgoingRecord> = fc
  .tuple(part, part, fc.option(fc.array(header, { maxLength: 6 }), { nil: undefined }))
  .map(([key, value, headers]) =>
    headers === undefined ? { key, value } : { key, value, headers },
  );

/** Returns a record with buffers, as a consumer gets it. */
export function asBytes({ key, value, headers = [] }: OutgoingRecord) {
  const bytesOf = (one: Buffer | string | null) => (one === null ? null : Buffer.from(one));
  const wireHeaders = headers.map(([named, one]) => [Buffer.from(named).toString(), bytesOf(one)]);
  return { key: bytesOf(key), value: bytesOf(value), headers: wireHeaders };
}
