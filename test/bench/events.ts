/**
 * Events of the benchmark. Realistic events have 300 to 600 bytes and 7 to 9 members of metadata with mixed types and
 * skewed values, some of them nested. 1 % have an escaped key, and 5 % look as if they came from a careless or
 * hostile producer. The generator uses no code of the product.
 */
import type { OutgoingRecord } from '../../src/core/record.ts';

/** Returns the nth record. The same number gives the same record. */
export type RecordOf = (n: number) => OutgoingRecord;

/** Metadata of an event as names and values. */
export type Members = [name: string, value: unknown][];

const LANGUAGES = ['en', 'es', 'pt-BR', 'de', 'fr', 'hi', 'ja', 'tr', 'id', 'pl', 'vi', 'uk'];
const WORDS =
  'the a of to and this that new old great bad really shop price photo video never always review seller order arrived broken love hate please contact account profile message group friend evening sunset free click offer today, yes. no! maybe? honestly, wow. again - here: (see) thing'.split(
    ' ',
  );
const WIDE_TEXTS = ['Größe läuft nicht über', '写真がとても綺麗です', 'Очень хорошо', '🎉🔥 wow'];
/** Unexpected names. Their number is limited, as in real topics. */
const ODD_NAMES = ['odd,name', 'say "hi"', 'line\nend', ' padded ', '=SUM(A1)', 'größe', 'ID;'];
/** Numbers that a double cannot represent, and unusual notations. */
const LONG_NUMBERS = ['90071992547409931234', '0.10000000000000000555', '1.50', '1e5', '-0.0'];
const ESCAPED_SHARE = 0.01;
const HOSTILE_SHARE = 0.05;
const POOL_CHARACTERS = 1 << 16;

const TEXTS = textPool();
// TypeScript's library does not declare JSON.rawJSON yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** Returns a string of this many characters from the pool. */
export function textOf(random: () => number, characters: number): string {
  const at = Math.floor(random() * (POOL_CHARACTERS - Math.min(characters, POOL_CHARACTERS / 2)));
  const text = TEXTS.slice(at, at + characters);
  return text.length < characters ? text + TEXTS.slice(0, characters - text.length) : text;
}

/** Events with about this number of characters of content; 0 stands for realistic lengths. */
export function realisticEvents(characters = 0, types = 1): RecordOf {
  return (n) => {
    const random = randomOf(n);
    const length = characters || 60 + Math.floor(230 * random() ** 1.5);
    let content = `${n} ${textOf(random, length)}`;
    const members = membersOf(n, random);
    if (random() < HOSTILE_SHARE) content = spoil(content, members, random);
    const type = types === 1 ? 'post' : `post${n % types}`;
    let value = JSON.stringify({ type, content, metadata: Object.fromEntries(members) });
    if (random() < ESCAPED_SHARE) value = value.replace('"device":', '"d\\u0065vice":');
    return { key: keyOf(random), value };
  };
}

/** Returns the metadata of an event: 7 to 9 members. */
export function membersOf(n: number, random: () => number): Members {
  const members: Members = [
    ['post_id', 7_000_000_000 + n],
    ['lang', LANGUAGES[skewed(random, LANGUAGES.length)]],
    ['device', `device-${skewed(random, 100)}`],
    ['score', random()],
    ['verified', random() < 0.2],
    ['created_at', new Date(1_760_000_000_000 + n * 137).toISOString()],
    [
      'author',
      { id: skewed(random, 50_000), name: `user ${skewed(random, 5_000)}`, karma: n % 97 },
    ],
  ];
  if (random() < 0.6) members.push(['tags', ['news', 'sale', 'pets'].slice(skewed(random, 3))]);
  if (random() < 0.4) members.push(['reply_to', random() < 0.5 ? null : 7_000_000_000 + (n >> 1)]);
  return members;
}

/** Makes the members or the content unusual in one of five ways. @returns the content */
function spoil(content: string, members: Members, random: () => number): string {
  const kind = Math.floor(random() * 5);
  if (kind === 0) return `She said "no, thanks"\r\n${content}\nsecond, "third" line`;
  if (kind === 1) return `${WIDE_TEXTS[skewed(random, WIDE_TEXTS.length)]} ${content}`;
  const odd = ODD_NAMES[skewed(random, ODD_NAMES.length)] as string;
  const number = LONG_NUMBERS[skewed(random, LONG_NUMBERS.length)] as string;
  if (kind === 2) members.push([odd, content.slice(0, 20)]);
  else if (kind === 3) members[3] = ['score', rawJSON(number)];
  else members.push(['note', 'a "quoted" note,\r\nof two lines']);
  return content;
}

export const keyOf = (random: () => number): string => `user-${skewed(random, 5_000)}`;

/** Events with minimal cost: equal content in all events, and two members of metadata. */
export function easyEvents(bytes: number): RecordOf {
  const sentence =
    'The quick brown fox, \\"quoted\\", jumps over the lazy dog; and then, quite naturally, it does so again. ';
  const text = sentence.repeat(Math.ceil(bytes / sentence.length)).slice(0, bytes);
  return (n) => ({
    key: `user-${n % 5_000}`,
    value: `{"type":"post","content":"${n} ${text}","metadata":{"post_id":${n},"lang":"en"}}`,
  });
}

/** Random numbers from 0 to 1 (Mulberry32). The same seed gives the same numbers. */
export function randomOf(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Random index below `count`. Small indexes are much more frequent. */
function skewed(random: () => number, count: number): number {
  return Math.floor(count * random() ** 3);
}

function textPool(): string {
  const random = randomOf(0);
  let text = '';
  while (text.length < POOL_CHARACTERS) text += `${WORDS[skewed(random, WORDS.length)]} `;
  return text.slice(0, POOL_CHARACTERS);
}
