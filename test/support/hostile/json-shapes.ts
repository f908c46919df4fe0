/**
 * JSON events that take far more memory or time to read than their size suggests. The first few once crashed processes
 * of 512 MiB.
 */

/** Record value that is expensive to read. */
export interface CostlyValue {
  readonly name: string;
  readonly value: Buffer;
}

/** Mapping whose expressions read members that hostile events fill. */
export const COSTLY_MAPPING = {
  content: "replace(content, ' ', '_')",
  type: { field: 'type' },
  metadata: '{n: length(not_null(j, `[]`)), tags: tags[].n[], m: metadata}',
};

const LONG_NUMBER = '12345678901234567890';
const ESCAPED = String.raw`"\u0061b":${LONG_NUMBER},`;

/** Event whose member `j` has the JSON `text`. Only COSTLY_MAPPING reads this member. */
const beside = (text: string, head = '') =>
  Buffer.from(`{${head}"type":"post","content":"x","metadata":{"a":1},"j":${text}}`);
const inMetadata = (text: string) =>
  Buffer.from(`{"type":"post","content":"x","metadata":${text}}`);
const list = (count: number, item: (n: number) => string) =>
  `[${Array.from({ length: count }, (_, n) => item(n)).join()}]`;
const object = (count: number, member: (n: number) => string) =>
  `{${Array.from({ length: count }, (_, n) => member(n)).join()}}`;

const key = (n: number) => `"${'k'.repeat(36)}${String(n).padStart(8, '0')}"`;
const objects = (count: number, number: string) => list(count, (n) => `{${key(n)}:${number}}`);

export function costlyJson(): CostlyValue[] {
  const texts: Readonly<Record<string, Buffer>> = {
    'objects with a name each, an escaped name and a long number': beside(
      `["\u4e00",${objects(349_000, '1.5').slice(1)}`,
      ESCAPED,
    ),
    'objects with a name and a long number each': beside(objects(260_000, LONG_NUMBER), ESCAPED),
    'one object of many names': beside(
      object(500_000, (n) => `${key(n)}:1`)
        .slice(0, 19_000_000)
        .replace(/,[^,]*$/, '}'),
      ESCAPED,
    ),
    'many short strings': beside(
      list(1_000_000, () => '"a"'),
      ESCAPED,
    ),
    'many empty objects': beside(
      list(524_000, () => '{}'),
      ESCAPED,
    ),
    'many long numbers': beside(list(900_000, () => LONG_NUMBER)),
    'many objects with a name each, no escapes': beside(objects(349_000, '1.5')),
    'strings full of escapes': beside(`"${'\\u0000'.repeat(3_000_000)}"`, ESCAPED),
    'names that are all escapes': beside(object(120_000, (n) => `"${'\\u0001'.repeat(20)}${n}":0`)),
    'members that repeat the wanted ones': Buffer.from(
      `{${'"content":"y","metadata":{"\\u0061":1},'.repeat(400_000)}"type":"post","content":"x"}`,
    ),
    'lists as deep as the text is long': beside(`${'['.repeat(5_000_000)}${']'.repeat(5_000_000)}`),
    'metadata of many short members': inMetadata(object(20_000, (n) => `"${n}":${n}`)),
    'metadata of many names, above every limit': inMetadata(object(400_000, (n) => `${key(n)}:""`)),
    'metadata that repeats one name': inMetadata(`{${'"a":1,'.repeat(40_000)}"a":2}`),
    'metadata of many empty objects': inMetadata(`{"a":${list(80_000, () => '{}')}}`),
    'metadata of many long numbers': inMetadata(`{"a":${list(12_000, () => LONG_NUMBER)}}`),
    'metadata as deep as it is long': inMetadata(`${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`),
    'content of escapes': Buffer.from(`{"type":"post","content":"${'\\n'.repeat(9_000_000)}"}`),
    'content of large characters': Buffer.from(
      `{"type":"post","content":"${'\u{1F642}'.repeat(4_500_000)}"}`,
    ),
    'a type as long as a record': Buffer.from(`{"type":"${'t'.repeat(18_000_000)}","content":"x"}`),
    'no JSON after many megabytes': Buffer.from(`{"j":${objects(300_000, '1')},"type"`),
  };
  return Object.entries(texts).map(([name, value]) => ({ name, value }));
}

/** Value of one megabyte, to be sent uncompressed so that the brokers need not decompress it. */
export function costlyUncompressed(): CostlyValue {
  return {
    name: 'objects with a name each, not compressed',
    value: beside(objects(17_500, '1.5'), ESCAPED),
  };
}
