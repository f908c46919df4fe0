/**
 * Part of a decision that its event determines. It is encoded once, at the upload, and sealed in
 * the connector's column (row-seal.ts). Settling adds the service's verdict.
 *
 *     partition, offset, replay, timestamp + 1     unsigned varints; 0 if there is no timestamp
 *     key of the decision                          as in a record (record-bytes.ts)
 *     key of the event                             length and JSON; empty if equal to the key above
 *     expected result                              length and JSON; empty if there is none
 *     headers                                      length, count and headers as in a record; the
 *                                                  event id is counted and follows at settling
 *     metadata                                     the rest: an object, optionally `,"content":"…"`
 */
import { CompactObject } from '../../../packages/client/src/base/json/compact-object.ts';
import { textOfString } from '../../../packages/client/src/base/json/json-text.ts';
import {
  readUnsigned,
  varintSize,
  writeUnsigned,
  writeVarint,
} from '../../../packages/client/src/base/varint.ts';
import { sizeOfPart, writePart } from '../../core/bytes/record-bytes.ts';
import { DEAD_LETTER_HEADERS } from '../../core/outcome/dead-letter.ts';
import type { ContentItem, Header, JsonPart, RecordHeaders } from '../../core/record.ts';
import { keyJson, MAX_DATE_MS } from '../terminal-record.ts';
import { copied } from './byte-writer.ts';

/** Bytes reserved before the body for the key with which the body is hashed. */
export const BODY_START = 16;
/** Bytes reserved for numbers and lengths. */
const NUMBERS_BYTES = 64;
/** Initial size of the memory for bodies, and maximum size that is kept for the next body. */
const LEAST_BYTES = 4 * 1024;
const KEPT_BYTES = 256 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CONTENT = Buffer.from(',"content":');

export interface EventPartOptions {
  /** True to include the content, for decisions that repeat it. */
  readonly includeContent: boolean;
  /** Names of the item's headers to leave out. */
  readonly withheldHeaders?: readonly string[];
}

export class EventPart {
  /** Metadata members of the last item, as positions in `bytes`. */
  readonly metadata = new CompactObject();
  /** Buffer with the body at `BODY_START`. Valid until the next item or body. */
  bytes: Buffer = Buffer.alloc(LEAST_BYTES);
  end = BODY_START;

  partition = 0;
  offset = 0;
  replay = 0;
  /** -1 if there is no timestamp. */
  timestampMs = -1;
  /** Positions in `bytes`. The key begins with its length at `keyStart`; its content begins at `keyText`. */
  keyStart = 0;
  keyText = 0;
  keyEnd = 0;
  sourceKeyStart = 0;
  sourceKeyEnd = 0;
  expectedStart = 0;
  expectedEnd = 0;
  headersStart = 0;
  headersEnd = 0;

  /** Returns the memory for the next body. @param size maximum size of the body in bytes */
  reserve(size: number): Buffer {
    const needed = BODY_START + size;
    if (needed > this.bytes.length || (this.bytes.length > KEPT_BYTES && needed <= KEPT_BYTES))
      this.bytes = Buffer.alloc(Math.max(needed, LEAST_BYTES));
    return this.bytes;
  }

  /** Encodes the part of an item. @throws TypeError if a header is neither bytes nor a string */
  encode(item: ContentItem, { includeContent, withheldHeaders = [] }: EventPartOptions): void {
    const { key, outputKey = key, timestampMs, expected, metadata, content, headers: all } = item;
    const headers = all.length === 0 ? all : without(all, withheldHeaders);
    const sourceKey = outputKey === key && key !== null && isPlain(key) ? '' : keyJson(key);
    const escapedExpected = expected?.hasEscapes ? canonical(expected) : undefined;
    const headersSize = sizeOfHeaders(headers);
    const to = this.reserve(
      NUMBERS_BYTES +
        sizeOfPart(outputKey) +
        3 * sourceKey.length +
        headersSize +
        lengthOf(expected) +
        lengthOf(metadata) +
        (includeContent ? CONTENT.length + lengthOf(content) : 0),
    );
    let at = writeUnsigned(to, item.partition, BODY_START);
    at = writeUnsigned(to, item.offset, at);
    at = writeUnsigned(to, item.replay, at);
    at = writeUnsigned(to, timestampMs < 0 || timestampMs > MAX_DATE_MS ? 0 : timestampMs + 1, at);
    at = writePart(to, outputKey, at);
    at = writeText(to, sourceKey, at);
    if (escapedExpected !== undefined) at = writeText(to, escapedExpected, at);
    else {
      at = writeUnsigned(to, lengthOf(expected), at);
      if (expected !== undefined) at = copied(expected.bytes, expected.start, expected.end, to, at);
    }
    at = writeUnsigned(to, headersSize, at);
    at = writeVarint(to, headers.length + 1, at);
    for (const [name, value] of headers) at = writePart(to, value, writePart(to, name, at));
    at = this.metadata.copy(metadata.bytes, metadata.start, to, at);
    if (includeContent) {
      at += CONTENT.copy(to, at);
      if (content.hasEscapes) at += to.write(canonical(content), at);
      else at = copied(content.bytes, content.start, content.end, to, at);
    }
    this.end = at;
  }

  /** Finds the values in the body, which `encode` has written or a seal has authenticated. */
  read(): void {
    const { bytes } = this;
    const cursor = { at: BODY_START };
    this.partition = readUnsigned(bytes, cursor);
    this.offset = readUnsigned(bytes, cursor);
    this.replay = readUnsigned(bytes, cursor);
    this.timestampMs = readUnsigned(bytes, cursor) - 1;
    this.keyStart = cursor.at;
    const keyLength = readUnsigned(bytes, cursor);
    this.keyText = cursor.at;
    // A missing key has the length -1, which is 1 in zigzag encoding.
    this.keyEnd = cursor.at += keyLength === 1 ? 0 : keyLength / 2;
    const sourceKeyLength = readUnsigned(bytes, cursor);
    this.sourceKeyStart = cursor.at;
    this.sourceKeyEnd = cursor.at += sourceKeyLength;
    const expectedLength = readUnsigned(bytes, cursor);
    this.expectedStart = cursor.at;
    this.expectedEnd = cursor.at += expectedLength;
    const headersLength = readUnsigned(bytes, cursor);
    this.headersStart = cursor.at;
    this.headersEnd = cursor.at + headersLength;
  }
}

function lengthOf(part: JsonPart | undefined): number {
  return part === undefined ? 0 : part.end - part.start;
}

/** Returns a JSON string in the format of JSON.stringify. */
function canonical(part: JsonPart): string {
  return JSON.stringify(textOfString(part));
}

function writeText(to: Buffer, text: string, start: number): number {
  const at = writeUnsigned(to, Buffer.byteLength(text), start);
  return text === '' ? at : at + to.write(text, at);
}

/** Removes headers by name, and the event id that a source record has if it is itself a decision. */
function without(headers: RecordHeaders, names: readonly string[]): RecordHeaders {
  const isOther = ([name]: Header) => name !== DEAD_LETTER_HEADERS.eventId && !names.includes(name);
  return headers.every(isOther) ? headers : headers.filter(isOther);
}

function sizeOfHeaders(headers: RecordHeaders): number {
  let size = varintSize(headers.length + 1);
  for (const [name, value] of headers) size += sizeOfPart(name) + sizeOfPart(value);
  return size;
}

/** Returns true for printable ASCII without JSON escapes. */
function isPlain(key: Buffer): boolean {
  for (let i = 0; i < key.length; i++) {
    const byte = key[i] as number;
    if (byte < 0x20 || byte > 0x7e || byte === QUOTE || byte === BACKSLASH) return false;
  }
  return true;
}
