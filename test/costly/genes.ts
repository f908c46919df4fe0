/**
 * Values of source records as lists of numbers: each number is a choice of a grammar that is weighted
 * towards what costs a decoder much. A list can be changed anywhere and still makes a value, so that
 * a search can climb.
 */
import {
  anyIn,
  avroEvent,
  avroText,
  protobufEvent,
  protobufField,
  varint,
} from '../support/hostile/binary-shapes.ts';

export const FORMATS = ['json', 'expressions', 'avro', 'protobuf'] as const;
export type CostlyFormat = (typeof FORMATS)[number];

/** A value to be: its format and its choices. */
export interface Gene {
  readonly format: CostlyFormat;
  readonly choices: readonly number[];
}

/** Choices of a gene; they begin again after the last. */
class Choices {
  readonly #choices: readonly number[];
  #at = 0;

  constructor(choices: readonly number[]) {
    this.#choices = choices;
  }

  /** @returns a number below `count` */
  below(count: number): number {
    return (this.#choices[this.#at++ % this.#choices.length] as number) % count;
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** @returns a size below `most`, each power of two as likely */
  size(most: number): number {
    const power = 2 ** this.below(Math.floor(Math.log2(most)));
    return Math.min(most, power + this.below(power));
  }
}

/** @param maxBytes greatest length of the value */
export function valueOfGene({ format, choices }: Gene, maxBytes: number): Buffer {
  const made = new Choices(choices);
  if (format === 'avro') return avro(made, maxBytes);
  if (format === 'protobuf') return protobuf(made, maxBytes);
  return Buffer.from(json(made, maxBytes));
}

/** Stands for a number that is another one in each repetition. */
const COUNTER = '#';
const UNITS = [
  'a',
  'a',
  'é',
  '一',
  '😀',
  '\\n',
  '\\\\',
  '\\u0000',
  '\\u00e9',
  '\\ud83d\\ude00',
  '\\ud800',
];
const NUMBERS = [
  '0',
  '1.5',
  '-0',
  '1e5',
  '0.10',
  '1e400',
  '12345678901234567890',
  '0.1000000000000000055',
];

function text(made: Choices, long: number): string {
  const unit = made.of(UNITS);
  return unit.repeat(made.of([0, 1, 2, 12, 44, long]));
}

/** Part that is repeated: a value, in a few characters. */
function template(made: Choices, levels: number): string {
  const kind = made.below(levels === 0 ? 5 : 9);
  if (kind === 0) return made.of(NUMBERS);
  if (kind === 1) return `1${made.of(['', '2', '.5'])}${'7'.repeat(made.size(64))}`;
  if (kind === 2) return made.of(['null', 'true', '""', '[]', '{}']);
  if (kind < 5) return `"${text(made, 300)}${made.of(['', COUNTER])}"`;
  const items = Array.from({ length: made.below(4) }, () => template(made, levels - 1));
  if (kind < 7) return `[${items.join()}]`;
  return `{${items.map((item) => `${name(made)}:${item}`).join()}}`;
}

const name = (made: Choices) => `"${text(made, 60)}${made.of(['', COUNTER, COUNTER])}"`;

/** Repeats a template up to a size. @returns a list or an object */
function container(made: Choices, bytes: number): string {
  const item = template(made, made.below(4));
  const isList = made.below(2) === 0;
  const part = isList ? item : `${name(made)}:${item}`;
  const parts: string[] = [];
  for (let length = 0, n = 0; length + part.length + 8 < bytes; n++) {
    const one = part.includes(COUNTER) ? part.replaceAll(COUNTER, n.toString(36)) : part;
    parts.push(one);
    length += one.length + 1;
  }
  return isList ? `[${parts.join()}]` : `{${parts.join()}}`;
}

function nested(made: Choices, text: string): string {
  const levels = made.of([0, 0, 0, 3, 60, 300]);
  return `${'[{"d":'.repeat(levels)}${text}${'}]'.repeat(levels)}`;
}

function json(made: Choices, maxBytes: number): string {
  const bytes = made.size(maxBytes);
  const head = made.of(['', String.raw`"\u0061b":12345678901234567890,`]);
  const slot = made.below(7);
  const part = () => nested(made, container(made, slot === 2 ? bytes / 2 : bytes));
  if (slot === 0) return `{${head}"type":"post","content":"x","metadata":${part()}}`;
  if (slot === 1) return `{${head}"type":"post","content":"x","metadata":{"m":${part()}}}`;
  if (slot === 2)
    return `{${head}"type":"post","content":"x","metadata":{"m":${part()}},"j":${part()}}`;
  if (slot === 3) return `{${head}"type":"post","content":"x","tags":${part()}}`;
  if (slot === 4) {
    const unit = made.of([...UNITS, ' ']);
    return `{${head}"type":"post","content":"${unit.repeat(bytes / Buffer.byteLength(unit))}"}`;
  }
  if (slot === 5) {
    const again = made.of(['"content":"x",', '"metadata":{"a":1},', String.raw`"typ\u0065":"a",`]);
    return `{${again.repeat(bytes / again.length)}"type":"post","content":"x"}`;
  }
  return `{${head}"type":"post","content":"x","metadata":{"a":1},"j":${part()}}`;
}

/** Items of one kind up to a size, each as `item` makes it. */
function repeated(
  bytes: number,
  most: number,
  item: () => Buffer,
): { count: number; items: Buffer } {
  const few = Array.from({ length: 16 }, item);
  const total = few.reduce((sum, { length }) => sum + length, 0);
  const times = Math.max(1, Math.min(Math.floor(bytes / Math.max(1, total)), Math.ceil(most / 16)));
  const once = Buffer.concat(few);
  return { count: 16 * times, items: Buffer.alloc(once.length * times, once) };
}

const bytesOf = (made: Choices, most: number) =>
  Buffer.alloc(made.size(most), made.of([0, 1, 0x61, 0x7f, 0x22]));
const MOST_ITEMS = 2 ** 20;
/** A varint of up to ten bytes. */
const anyVarint = (made: Choices) =>
  Buffer.concat([Buffer.alloc(made.below(9), 0x80 + made.below(128)), Buffer.of(made.below(2))]);

type AvroFields = Parameters<typeof avroEvent>[0];

function avro(made: Choices, maxBytes: number): Buffer {
  const fields: Record<string, Buffer> = {};
  const size = made.size(maxBytes);
  const count = 1 + made.below(2);
  for (let n = 0; n < count; n++) {
    const bytes = size / count;
    const block = (item: () => Buffer) => {
      const { count, items } = repeated(bytes, MOST_ITEMS, item);
      return Buffer.concat([varint(2 * count), items, Buffer.of(0)]);
    };
    let counter = 0;
    const key = () => avroText((counter++).toString(36).padStart(made.of([0, 0, 20]), 'k'));
    const lists = () =>
      Buffer.concat([
        varint(2 * 4),
        ...Array.from({ length: 4 }, () => anyVarint(made)),
        Buffer.of(0),
      ]);
    const makers: Readonly<Record<string, () => Buffer>> = {
      longs: () => block(() => Buffer.concat([key(), anyVarint(made)])),
      texts: () => block(() => avroText(bytesOf(made, made.of([2, 16, 4_000])))),
      nothing: () => Buffer.concat([varint(2 * made.size(MOST_ITEMS * 2)), Buffer.of(0)]),
      floats: () => block(() => Buffer.from([0, 1, 2, 3].map(() => made.below(256)))),
      times: () => block(() => anyVarint(made)),
      decimals: () => block(() => avroText(bytesOf(made, made.of([2, 16, 1_024])))),
      lists: () => block(() => made.of([() => Buffer.of(0), lists])()),
      bytes: () => avroText(bytesOf(made, Math.max(2, bytes))),
      records: () => Buffer.concat([varint(2 * made.size(MOST_ITEMS)), Buffer.of(0)]),
      deep: () => Buffer.concat([Buffer.alloc(made.size(Math.max(2, bytes)), 2), Buffer.of(0)]),
    };
    const chosen = made.of(Object.keys(makers));
    fields[chosen] = (makers[chosen] as () => Buffer)();
  }
  return avroEvent(fields as AvroFields);
}

function protobuf(made: Choices, maxBytes: number): Buffer {
  const size = made.size(maxBytes);
  const count = 1 + made.below(2);
  const parts: Buffer[] = [];
  for (let n = 0; n < count; n++) {
    const many = (item: () => Buffer) => repeated(size / count, 2 * MOST_ITEMS, item).items;
    let counter = 0;
    const key = () => protobufField(1, (counter++).toString(36));
    const number = (field: number) => Buffer.concat([Buffer.of(field * 8), anyVarint(made)]);
    const wide = () => {
      const field = 1 + made.below(30);
      return made.of([
        Buffer.alloc(0),
        protobufField(field, bytesOf(made, 30)),
        protobufField(field, ''),
      ]);
    };
    const structValue = (levels: number): Buffer => {
      const inner = () => (levels === 0 ? Buffer.from([0x08, 0x00]) : structValue(levels - 1));
      const kinds = [
        () => Buffer.from([0x08, 0x00]),
        () => protobufField(3, bytesOf(made, 16)),
        () =>
          protobufField(
            6,
            Buffer.concat(Array.from({ length: made.below(6) }, () => protobufField(1, inner()))),
          ),
        () =>
          protobufField(
            5,
            Buffer.concat(
              Array.from({ length: made.below(4) }, () =>
                protobufField(1, Buffer.concat([key(), protobufField(2, inner())])),
              ),
            ),
          ),
      ];
      return made.of(kinds)();
    };
    const float = () => Buffer.from([0, 1, 2, 3].map(() => made.below(256)));
    const makers: readonly (() => Buffer)[] = [
      () => many(() => protobufField(3, Buffer.concat([key(), number(2)]))),
      () => many(() => protobufField(4, bytesOf(made, made.of([2, 16, 4_000])))),
      () => many(() => protobufField(5, wide())),
      () => protobufField(6, many(float)),
      () =>
        many(() =>
          protobufField(7, Buffer.concat([number(1), Buffer.from([0x10, made.below(128)])])),
        ),
      () =>
        protobufField(
          8,
          many(() => protobufField(1, Buffer.concat([key(), protobufField(2, structValue(3))]))),
        ),
      () => deep(made.below(500)),
      () =>
        protobufField(
          10,
          many(() => anyVarint(made)),
        ),
      () => many(() => number(10)),
      () => protobufField(11, bytesOf(made, Math.max(2, size / count))),
      () => many(() => protobufField(12, Buffer.concat([key(), protobufField(2, wide())]))),
      () =>
        anyIn(
          1 + made.below(8),
          () => repeated(size / count / 8, 2 * MOST_ITEMS, () => protobufField(4, '')).items,
        ),
      () =>
        protobufField(
          14,
          many(() => protobufField(1, made.of(['_a', '_', 'a_b']).repeat(made.of([1, 30, 9_000])))),
        ),
    ];
    parts.push(made.of(makers)());
  }
  return protobufEvent(...parts);
}

function deep(levels: number): Buffer {
  let message: Buffer = Buffer.alloc(0);
  for (let level = 0; level < levels; level++) message = protobufField(9, message);
  return message;
}
