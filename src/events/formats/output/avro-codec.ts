import avro from 'avsc';
import { avroForm } from '../../../contracts/encodable.ts';
import type { Codec } from './codec.ts';

/** Written for a status that the schema does not know: readers of a newer schema than ours get it too. */
const UNKNOWN = 'UNKNOWN';

/** avsc's own stops one short of the largest safe integer, which an offset may be. */
const LONG = avro.types.LongType.__with({
  toBuffer(value: number) {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeBigInt64LE(BigInt(value));
    return bytes;
  },
  fromBuffer: (bytes: Buffer) => Number(bytes.readBigInt64LE()),
  toJSON: (value: number) => value,
  fromJSON: (value: number) => value,
  isValid: (value: unknown) => Number.isSafeInteger(value),
  compare: (one: number, other: number) => Math.sign(one - other),
});

/** @param schema text of one of contracts/avro: a record with an enum `status` */
export function avroCodec(schema: string): Codec {
  const type = avro.Type.forSchema(JSON.parse(schema), {
    registry: { long: LONG },
  }) as avro.types.RecordType;
  const statuses = new Set((type.field('status').type as avro.types.EnumType).symbols);
  return {
    recordName: String(type.name),
    encode(json) {
      const form = avroForm(json);
      return type.toBuffer(statuses.has(String(form.status)) ? form : { ...form, status: UNKNOWN });
    },
    decode: (payload) => type.fromBuffer(payload),
  };
}
