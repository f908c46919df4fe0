/** What the bytes of a text file are: UTF-8, or what else, told from the first of them or by line. */
import { isUtf8 } from 'node:buffer';
import type { Findings } from './findings.ts';

const LINE_FEED = 0x0a;
const NUL = 0x00;
const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Beginnings of files that are no text, and what to do about them. */
const KINDS: readonly (readonly [Buffer, string])[] = [
  // Before UTF-16, whose mark it begins with.
  [Buffer.from([0xff, 0xfe, 0x00, 0x00]), 'is UTF-32 text, not UTF-8'],
  [Buffer.from([0xff, 0xfe]), 'is UTF-16 text, not UTF-8'],
  [Buffer.from([0xfe, 0xff]), 'is UTF-16 text, not UTF-8'],
  [Buffer.from([0x00, 0x00, 0xfe, 0xff]), 'is UTF-32 text, not UTF-8'],
  [Buffer.from([0x1f, 0x8b]), 'is compressed (gzip): unpack it first.'],
  [Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), 'is compressed (zstd): unpack it first.'],
  [
    Buffer.from('PK\x03\x04'),
    'is a zip file or a workbook of a spreadsheet: export its text first.',
  ],
  [Buffer.from('%PDF-'), 'is a PDF, not text.'],
];

/** What to do about another encoding; `from` is what iconv calls it. */
export const convert = (from: string) =>
  `: save it as UTF-8, or convert it (iconv -f ${from} -t UTF-8 FILE > NEW).`;

/** Why a file that begins so cannot be text in UTF-8; undefined when it can. */
export function foreignKind(head: Buffer): string | undefined {
  const [, what] = KINDS.find(([magic]) => head.subarray(0, magic.length).equals(magic)) ?? [];
  if (what !== undefined)
    return what.endsWith('.') ? what : `${what}${convert(/UTF-\d+/.exec(what)?.[0] ?? '')}`;
  const order = utf16Order(head);
  return order === undefined ? undefined : `looks like UTF-16 text, not UTF-8${convert(order)}`;
}

/** Without a byte order mark UTF-16 shows in Latin text: every other byte is NUL. */
function utf16Order(head: Buffer): 'UTF-16LE' | 'UTF-16BE' | undefined {
  const pairs = Math.floor(head.length / 2);
  if (pairs < 2) return undefined;
  let even = 0;
  let odd = 0;
  for (let at = 0; at < 2 * pairs; at += 2) {
    if (head[at] === NUL) even += 1;
    if (head[at + 1] === NUL) odd += 1;
  }
  if (odd > pairs / 2 && even < pairs / 8) return 'UTF-16LE';
  return even > pairs / 2 && odd < pairs / 8 ? 'UTF-16BE' : undefined;
}

/** Bytes of the byte order mark at the beginning: 3 or 0. */
export function markBytes(head: Buffer): number {
  return head.subarray(0, UTF8_MARK.length).equals(UTF8_MARK) ? UTF8_MARK.length : 0;
}

export const NOT_UTF8 =
  'not UTF-8 (Windows-1252 or Latin-1, perhaps): save the file as UTF-8, or convert it (iconv -f WINDOWS-1252 -t UTF-8)';
export const HAS_NUL = 'a NUL byte: this is no text';

/** Finds the lines of a stream that are not UTF-8 or hold a NUL byte. Memory: one chunk. */
export class EncodingCheck {
  readonly #findings: Findings;
  /** The line in which the next byte is. */
  #line = 1;
  /** A character that the last chunk began: at most three bytes. */
  #begun: Buffer = Buffer.alloc(0);
  #notUtf8 = 0;
  #nul = 0;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  feed(chunk: Buffer): void {
    const bytes = this.#begun.length === 0 ? chunk : Buffer.concat([this.#begun, chunk]);
    this.#begun = Buffer.from(bytes.subarray(bytes.length - begunBytes(bytes)));
    const whole = bytes.subarray(0, bytes.length - this.#begun.length);
    if (isUtf8(whole) && !whole.includes(NUL)) this.#line += lineFeeds(whole);
    else this.#byLine(whole);
  }

  finish(): void {
    if (this.#begun.length > 0) this.#findNotUtf8();
  }

  #byLine(bytes: Buffer): void {
    for (let from = 0; ; this.#line += 1) {
      const end = bytes.indexOf(LINE_FEED, from);
      const line = bytes.subarray(from, end < 0 ? bytes.length : end);
      if (!isUtf8(line)) this.#findNotUtf8();
      if (line.includes(NUL) && this.#nul !== this.#line) {
        this.#nul = this.#line;
        this.#findings.add(this.#line, HAS_NUL);
      }
      if (end < 0) return;
      from = end + 1;
    }
  }

  /** Once for a line, also when it came in several chunks. */
  #findNotUtf8(): void {
    if (this.#notUtf8 === this.#line) return;
    this.#notUtf8 = this.#line;
    this.#findings.add(this.#line, NOT_UTF8);
  }
}

function lineFeeds(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1))
    count += 1;
  return count;
}

/** Bytes at the end that begin a character and do not end it. */
function begunBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
