import assert from 'node:assert/strict';
import { test } from 'node:test';
import avsc from 'avsc';
import fc from 'fast-check';
import { anyCharacter } from '../../../support/any-character.ts';
import { readAvro } from '../../../support/records/avro.ts';
import { jsonOf } from '../../../support/records/read-event.ts';

/** A schema with a value for avsc and the expected JSON text. */
interface Sample {
  readonly schema: unknown;
  readonly value: unknown;
  readonly json: string;
}

const of =
  (schema: unknown) =>
  (value: unknown, json: string): Sample => ({ schema, value, json });
const text = fc.string({ unit: anyCharacter, maxLength: 8 });
const float = fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => Math.fround(value));

/** Decimals as bytes: two's complement, big endian, in the minimum number of bytes or one more. */
const decimal = fc
  .tuple(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), fc.nat(20), fc.boolean())
  .map(([unscaled, scale, wide]) => {
    const size = Math.ceil((unscaled.toString(2).length + 1) / 8) + (wide ? 1 : 0);
    const hex = BigInt.asUintN(size * 8, unscaled)
      .toString(16)
      .padStart(size * 2, '0');
    const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
    const whole = digits.slice(0, digits.length - scale);
    const json = `${unscaled < 0n ? '-' : ''}${whole}${scale === 0 ? '' : `.${digits.slice(-scale)}`}`;
    return of({ type: 'bytes', logicalType: 'decimal', precision: 26, scale })(
      Buffer.from(hex, 'hex'),
      json,
    );
  });

const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constant(of('null')(null, 'null')),
    fc.boolean().map((value) => of('boolean')(value, String(value))),
    fc
      .maxSafeInteger()
      .map((value) => value | 0)
      .map((value) => of('int')(value, String(value))),
    fc
      .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
      .map((value) => of('long')(value, String(value))),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .map((value) => of('double')(value, Object.is(value, -0) ? '-0.0' : String(value))),
    float.map((value) => of('float')(value, '#float')),
    text.map((value) => of('string')(value, JSON.stringify(value))),
    fc
      .uint8Array({ maxLength: 8 })
      .map((value) =>
        of('bytes')(Buffer.from(value), JSON.stringify(Buffer.from(value).toString('base64'))),
      ),
    decimal,
    tie('sample').chain(({ schema, value, json }) =>
      fc
        .nat(3)
        .map((count) =>
          of({ type: 'array', items: schema })(
            Array(count).fill(value),
            `[${Array(count).fill(json).join()}]`,
          ),
        ),
    ),
    fc
      .tuple(tie('sample'), fc.uniqueArray(text, { maxLength: 3 }))
      .map(([{ schema, value, json }, keys]) =>
        of({ type: 'map', values: schema })(
          new Map(keys.map((key) => [key, value])),
          `{${keys.map((key) => `${JSON.stringify(key)}:${json}`).join()}}`,
        ),
      ),
    fc.array(tie('sample'), { maxLength: 4 }).map((parts) =>
      of({
        type: 'record',
        fields: parts.map(({ schema }, index) => ({ name: `f${index}`, type: schema })),
      })(
        parts.map(({ value }) => value),
        `{${parts.map(({ json }, index) => `"f${index}":${json}`).join()}}`,
      ),
    ),
  ),
}));

/** Encodes a value with avsc's primitives, so that the test shares no code with the reader. */
function bytesOf(schema: unknown, value: unknown): Buffer {
  if (typeof schema === 'string')
    return schema === 'long'
      ? LONG.toBuffer(value)
      : avsc.Type.forSchema(schema as 'int').toBuffer(value);
  const { type, items, values, fields } = schema as {
    type: string;
    items: unknown;
    values: unknown;
    fields: { type: unknown }[];
  };
  const count = (size: number) => avsc.Type.forSchema('int').toBuffer(size);
  if (type === 'array') {
    const list = value as unknown[];
    return Buffer.concat([
      ...(list.length === 0
        ? []
        : [count(list.length), ...list.map((item) => bytesOf(items, item))]),
      count(0),
    ]);
  }
  if (type === 'map') {
    const entries = [...(value as Map<string, unknown>)].flatMap(([key, item]) => [
      bytesOf('string', key),
      bytesOf(values, item),
    ]);
    return Buffer.concat([
      ...(entries.length === 0 ? [] : [count(entries.length / 2), ...entries]),
      count(0),
    ]);
  }
  if (type === 'record')
    return Buffer.concat(
      fields.map((field, index) => bytesOf(field.type, (value as unknown[])[index])),
    );
  return bytesOf(type, value);
}

const LONG = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value);
    return bytes;
  },
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: () => 0,
});

/** Gives each record type its own name. */
function named(schema: unknown, next = { name: 0 }): unknown {
  if (Array.isArray(schema)) return schema.map((part) => named(part, next));
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).map(([key, part]) => [key, named(part, next)]);
  const name = (schema as { type?: unknown }).type === 'record' ? { name: `R${next.name++}` } : {};
  return { ...Object.fromEntries(parts), ...name };
}

test('bytes written by avsc are read with every digit, for any schema', () => {
  fc.assert(
    fc.property(sample, ({ schema, value, json }) => {
      const read = readAvro(
        named({ type: 'record', fields: [{ name: 'v', type: schema }] }),
        bytesOf(schema, value),
      );
      assert.equal(read.poison, undefined);
      // Skips floats, because the unit tests check their spelling.
      const pattern = JSON.stringify({ v: null }).replace('null', () => json);
      if (!json.includes('#float')) assert.equal(jsonOf(read), pattern);
    }),
    { numRuns: 500 },
  );
});

test('random bytes quickly become an event or a dead letter, never an exception', () => {
  fc.assert(
    fc.property(sample, fc.uint8Array({ maxLength: 60 }), ({ schema }, bytes) => {
      const read = readAvro(
        named({ type: 'record', fields: [{ name: 'v', type: schema }] }),
        Buffer.from(bytes),
      );
      if (read.poison === undefined) assert.ok(jsonOf(read));
      else assert.match(read.poison.reason, /^(?:undecodable|not_an_object|too_large)$/);
    }),
    { numRuns: 500 },
  );
});
