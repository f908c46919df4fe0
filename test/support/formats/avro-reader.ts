/** Reads Avro's binary encoding as its specification describes it, by the writer's schema: a check on those who write it. */

interface Schema {
  readonly type: string | Schema;
  readonly fields?: readonly { readonly name: string; readonly type: unknown }[];
  readonly items?: unknown;
  readonly symbols?: readonly string[];
}

/** Longs and ints come as bigint. @throws Error when bytes are wanting or left over */
export function readAvro(schema: unknown, bytes: Uint8Array): unknown {
  let at = 0;
  const byte = (): number => {
    const next = bytes[at++];
    if (next === undefined) throw new Error('the Avro ends too early');
    return next;
  };
  const long = (): bigint => {
    let raw = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const next = byte();
      raw |= BigInt(next & 0x7f) << shift;
      if (next < 0x80) return (raw >> 1n) ^ -(raw & 1n);
    }
  };
  const text = (): string => {
    const length = Number(long());
    at += length;
    if (at > bytes.length) throw new Error('the Avro ends too early');
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      bytes.subarray(at - length, at),
    );
  };
  const value = (type: unknown): unknown => {
    if (Array.isArray(type)) return value(type[Number(long())]);
    if (typeof type === 'object' && type !== null) return complex(type as Schema);
    switch (type) {
      case 'null':
        return null;
      case 'boolean':
        return byte() === 1;
      case 'int':
      case 'long':
        return long();
      case 'string':
        return text();
      default:
        throw new Error(`no reader for the Avro type ${String(type)}`);
    }
  };
  const complex = ({ type, fields = [], items, symbols = [] }: Schema): unknown => {
    if (type === 'record')
      return Object.fromEntries(fields.map((field) => [field.name, value(field.type)]));
    if (type === 'enum') return symbols[Number(long())];
    if (type !== 'array') return value(type);
    const all: unknown[] = [];
    for (let count = long(); count !== 0n; count = long()) {
      // A block with a negative count says its size too.
      if (count < 0n) {
        count = -count;
        long();
      }
      for (let n = 0n; n < count; n++) all.push(value(items));
    }
    return all;
  };
  const whole = value(schema);
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes follow the Avro`);
  return whole;
}
