/**
 * Searches for values that take more memory than is reserved for them. Generates random shapes from a grammar, keeps
 * the worst shapes and mutates them. Runs as a program in its own process:
 *   node --expose-gc test/support/events/shape-search.ts ROUNDS [SEED]
 * Prints the worst shape of JSON and of Protobuf.
 */
import protobuf from 'protobufjs';
import { parseKeepingDigits } from '../../../packages/client/src/base/json/parse-json.ts';
import { JsonScanner } from '../../../packages/client/src/base/json/scanner.ts';
import { parsedBytes } from '../../../src/events/expression/index.ts';
import { CountingReader, decodedBytes } from '../../../src/events/formats/protobuf-reader.ts';
import { messagesOf } from '../../../src/events/formats/protobuf-schema.ts';
import { SeededRandom } from '../memory/clock.ts';

/** Shape with the largest share among all shapes of a format. */
export interface WorstShape {
  readonly format: string;
  /** First 200 bytes of a value of the shape. */
  readonly value: string;
  /** Memory used by the value's objects, divided by the memory reserved for them. */
  readonly share: number;
}

/** Part of a shape, with a function that writes it for the nth item of the list. */
interface Node<T> {
  readonly write: (children: readonly T[], n: number) => T;
  readonly children: readonly Node<T>[];
}

interface Grammar<T> {
  readonly format: string;
  readonly leaves: readonly ((n: number) => T)[];
  readonly inner: readonly ((children: readonly T[], n: number) => T)[];
  /** Encodes a value from items. */
  readonly whole: (items: readonly T[]) => Buffer;
  /** Decodes a value. */
  readonly decode: (value: Buffer) => unknown;
  /** Returns the memory reserved for a value, bytes. */
  readonly reserved: (value: Buffer) => number;
}

const ITEMS = 1_000;
const KEPT = 8;
/** Minimum of the total memory that is reserved for the measured copies of a value, bytes. */
const LEAST_RESERVED = 4 * 1024 * 1024;

const texts: readonly ((n: number) => string)[] = [
  () => 'a',
  (n) => `k${n}`,
  (n) => `\\u0061${n}`,
  (n) => `\u4e00${n}`,
  (n) => String(n).padStart(40, 'k'),
  (n) => String(n).padStart(40, '\u4e00'),
  () => '900',
  (n) => String(n % 1_000),
  (n) => String(n),
  () => '4294967290',
  () => '__proto__',
  () => '',
];

const scanner = new JsonScanner([[]]);

const JSON_GRAMMAR: Grammar<string> = {
  format: 'JSON',
  leaves: [
    ...texts.map((text) => (n: number) => `"${text(n)}"`),
    ...['0', '1.50', '-0', '1e5', '12345678901234567890', 'true', 'null', '{}', '[]'].map(
      (value) => () => value,
    ),
    (n) => `${n}.5`,
    (n) => `${n}.50`,
  ],
  inner: [
    (children) => `[${children.join()}]`,
    ...texts.map(
      (text) => (children: readonly string[], n: number) =>
        `{${children.map((child, i) => `"${text(n + i * ITEMS)}":${child}`).join()}}`,
    ),
  ],
  whole: (items) => Buffer.from(`[${items.join()}]`),
  decode: (value) => parseKeepingDigits(value.toString()),
  reserved(value) {
    scanner.scan(value);
    return parsedBytes(scanner.values[0]?.values ?? 0, value.length);
  },
};

const messages = messagesOf({
  id: 1,
  type: 'PROTOBUF',
  references: [],
  imports: [],
  text: `syntax = "proto3"; import "google/protobuf/struct.proto"; message M {
    repeated M list = 1; M one = 2; int64 long = 3; double number = 4; string text = 5; bytes data = 6;
    repeated int64 longs = 7; repeated bool bools = 8; repeated double numbers = 9; repeated E enums = 10;
    map<int32, M> by_number = 11; map<string, string> by_text = 12; map<int64, double> by_long = 13;
    oneof either { string left = 14; M right = 15; } google.protobuf.Struct struct = 16;
    repeated string texts = 17; repeated bytes datas = 18; optional int32 maybe = 19;
  } enum E { A = 0; B = 1; }`,
});
const type = messages[0] as protobuf.Type;

const varint = (value: number): Buffer =>
  Buffer.from(protobuf.Writer.create().uint32(value).finish());
const delimited = (field: number, bytes: Buffer): Buffer =>
  Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);

const PROTOBUF_GRAMMAR: Grammar<Buffer> = {
  format: 'Protobuf',
  leaves: [
    ...[3, 19].flatMap((field) => [
      () => Buffer.concat([varint(field * 8), varint(1)]),
      (n: number) => Buffer.concat([varint(field * 8), varint(n * 1_000_003)]),
    ]),
    (n) => Buffer.concat([varint(4 * 8 + 1), Buffer.from(Float64Array.of(n + 0.5).buffer)]),
    ...[1, 2, 5, 6, 11, 12, 13, 14, 15, 16, 17, 18].map(
      (field) => () => delimited(field, Buffer.alloc(0)),
    ),
    ...[5, 6, 14, 17, 18].map((field) => (n: number) => delimited(field, Buffer.from(`k${n}`))),
    ...[7, 8, 10].map((field) => () => delimited(field, Buffer.alloc(20, 1))),
    () => delimited(7, Buffer.alloc(20, Buffer.of(0xff, 0xff, 0xff, 0xff, 0x0f))),
    () => delimited(9, Buffer.alloc(16)),
    (n) => delimited(11, Buffer.concat([Buffer.of(8), varint(n % 1_000)])),
    (n) => delimited(12, delimited(1, Buffer.from(String(n)))),
    (n) => delimited(13, Buffer.concat([Buffer.of(8), varint(n)])),
  ],
  inner: [
    ...[1, 2, 15].map(
      (field) => (children: readonly Buffer[]) => delimited(field, Buffer.concat(children)),
    ),
    (children, n) =>
      delimited(
        11,
        Buffer.concat([Buffer.of(8), varint(n % 1_000), delimited(2, Buffer.concat(children))]),
      ),
  ],
  whole: (items) => Buffer.concat(items),
  decode: (value) => type.decode(new CountingReader(value)),
  reserved: (value) => decodedBytes(value.length),
};

function search<T>(grammar: Grammar<T>, rounds: number, random: SeededRandom): WorstShape {
  const one = <V>(of: readonly V[]): V => of[Math.floor(random.next() * of.length)] as V;
  const make = (levels: number): Node<T> => {
    if (levels === 0 || random.next() < 0.4) {
      const leaf = one(grammar.leaves);
      return { write: (_, n) => leaf(n), children: [] };
    }
    const count = 1 + Math.floor(random.next() ** 2 * 12);
    return {
      write: one(grammar.inner),
      children: Array.from({ length: count }, () => make(levels - 1)),
    };
  };
  const changed = (node: Node<T>): Node<T> => {
    if (node.children.length === 0 || random.next() < 0.3) return make(3);
    const at = Math.floor(random.next() * node.children.length);
    const children = node.children.map((child, i) => (i === at ? changed(child) : child));
    return { ...node, children };
  };
  const written = (node: Node<T>, n: number): T =>
    node.write(
      node.children.map((child) => written(child, n)),
      n,
    );

  const worst: { node: Node<T>; shape: WorstShape }[] = [];
  for (let round = 0; round < rounds; round++) {
    const node = worst.length === 0 || random.next() < 0.4 ? make(4) : changed(one(worst).node);
    const value = grammar.whole(Array.from({ length: ITEMS }, (_, n) => written(node, n)));
    const share = shareOf(grammar, value);
    if (share === undefined) continue;
    const shape = { format: grammar.format, value: value.toString('latin1', 0, 200), share };
    worst.push({ node, shape });
    worst.sort((a, b) => b.shape.share - a.shape.share).splice(KEPT);
  }
  return worst[0]?.shape ?? { format: grammar.format, value: '', share: Infinity };
}

/**
 * Returns the share of a value, or undefined if the decoder refuses it. Code compiled during decoding stays in the
 * heap: up to 310 kB, more than is reserved for a small value. So the first decoding is not measured, and then
 * several copies are decoded and kept.
 */
function shareOf<T>({ decode, reserved }: Grammar<T>, value: Buffer): number | undefined {
  try {
    decode(value);
  } catch {
    return undefined;
  }
  const copies = Math.ceil(LEAST_RESERVED / reserved(value));
  const kept: unknown[] = new Array(copies);
  gc?.();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < copies; n++) kept[n] = decode(value);
  gc?.();
  const live = process.memoryUsage().heapUsed - before;
  // Keeps the objects alive until here.
  return kept.length === 0 ? undefined : live / (copies * reserved(value));
}

const [rounds, seed = '1'] = process.argv.slice(2);
const random = new SeededRandom(Number(seed));
const worst = [
  search(JSON_GRAMMAR, Number(rounds), random),
  search(PROTOBUF_GRAMMAR, Number(rounds), random),
];
process.stdout.write(JSON.stringify(worst));
