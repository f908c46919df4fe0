/** Events that are cheap to send and expensive to parse, and their fate in one mapping or another. */
import {
  createDecoder,
  DEFAULT_MAPPING,
  type MappingOptions,
} from '../../../src/kinds/review/decode.ts';

const list = (count: number, item: (n: number) => string): string =>
  `[${Array.from({ length: count }, (_, n) => item(n)).join()}]`;
const name = (n: number, length = 44): string => String(n).padStart(length, 'k');

/** Values of a member that no mapping asks for. */
const SHAPES: Readonly<Record<string, () => string>> = {
  'objects with long names and long numbers': () =>
    list(349_000, (n) => `{"${name(n)}":1.${n}0}`).replace('k', '\u4e00'),
  'objects with escaped names': () => list(300_000, (n) => `{"\\u0061${n}":12345678901234567890}`),
  'one object of many names': () => `{${list(520_000, (n) => `"${n}k":1`).slice(1, -1)}}`,
  'short texts': () => list(1_000_000, () => '"a"'),
  'empty objects': () => list(1_000_000, () => '{}'),
  'numbers that keep their text': () => list(1_000_000, () => '1.50'),
  'elements of long lists': () => list(250_000, () => '{"900":0}'),
  'deep lists': () => list(4_000, () => '['.repeat(250) + ']'.repeat(250)),
  'a long text': () => `"${'\u4e00'.repeat(6_000_000)}"`,
};

const MAPPINGS: Readonly<Record<string, Partial<MappingOptions>>> = {
  paths: {},
  expressions: { content: 'content | @' },
};

/** Fate of an event: `item`, or the reason of its dead letter. */
export interface Fate {
  readonly shape: string;
  readonly mapping: string;
  readonly fate: string;
  readonly cost: number;
  readonly cpuMs: number;
}

export function fatesOfShapes(): Fate[] {
  return Object.entries(SHAPES).flatMap(([shape, make]) => {
    const value = Buffer.from(
      `{"\\u0061b":12345678901234567890,"type":"comment","content":"x","metadata":{"a":1},"j":${make()}}`,
    );
    const record = { partition: 0, offset: 0, timestampMs: 0, key: null, headers: [], value };
    return Object.entries(MAPPINGS).map(([mapping, over]): Fate => {
      const { decode, decodeCost } = createDecoder({ ...DEFAULT_MAPPING, ...over });
      const before = process.cpuUsage();
      const decoded = decode(record, 0);
      const { user, system } = process.cpuUsage(before);
      const fate = 'poison' in decoded ? decoded.poison.reason : Object.keys(decoded).join();
      return { shape, mapping, fate, cost: decodeCost(record), cpuMs: (user + system) / 1_000 };
    });
  });
}
