/**
 * Decisions of ordinary rows, written from the bytes of their cells: the same bytes that decision.ts and record-bytes.ts make, without
 * a text or an object in between. Ordinary is a row with status SUCCESS and a reference without extras, all in UTF-8.
 */

import { isJsonText } from '../../../base/exact-json.ts';
import type { SliceWriter } from '../../../core/bytes/slice-writer.ts';
import { varintSize, writeVarint } from '../../../core/bytes/varint.ts';
import { DEAD_LETTER_HEADERS } from '../../../core/outcome/dead-letter.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { type DecisionOptions, jobParts } from '../decision.ts';
import { digitsOf, writeCount } from '../number-bytes.ts';
import { CellMemo } from './cell-memo.ts';
import {
  InstantBytes,
  isPlainNumber,
  MAX_ESCAPE,
  put,
  putAll,
  putCell,
  putString,
} from './json-bytes.ts';
import { readLabels } from './labels.ts';
import type { MetadataPlan, MetadataPlans } from './metadata-plans.ts';
import { ReferenceBytes } from './reference-bytes.ts';
import type { ResultHeader } from './result-header.ts';
import { BARE, DOUBLED, type RowScanner } from './row-scanner.ts';
import { TextMemo } from './text-memo.ts';

const NULL = Buffer.from('null');
const SUCCESS = Buffer.from('SUCCESS');
const AFTER_ID = Buffer.from('","status":"SUCCESS","result":');
const EXPECTED = Buffer.from(',"expected_result":');
const LABELS = Buffer.from(',"labels":');
const METADATA = Buffer.from(',"metadata":{');
const CONTENT = Buffer.from('},"content":');
const OFFSET = Buffer.from(',"offset":');
const KEY = Buffer.from(',"key":');
const TIMESTAMP = Buffer.from(',"timestamp":"');
const NO_PARTS: MetadataPlan = [];
const DASH = 0x2d;
/** Room of a record beside its cells and the texts of its job, bytes: numbers, lengths, names. */
const FIXED_BYTES = 512;
/** A record that may become larger is written as an object, whose size is counted. */
const MAX_RECORD_BYTES = 256 * 1024;
/** Bytes of the length before a value, as a rule. */
const LENGTH_BYTES = 2;

export class DecisionBytes {
  readonly #header: ResultHeader;
  readonly #topic: string;
  readonly #includesContent: boolean;
  readonly #plans: CellMemo<MetadataPlan | undefined>;
  readonly #labels = new CellMemo(new TextMemo(labelBytes, (json) => json?.length ?? 0));
  readonly #results = new CellMemo(new TextMemo((text) => text));
  readonly #json = new CellMemo(new TextMemo(isJsonText));
  readonly #reference = new ReferenceBytes();
  readonly #instants = new InstantBytes();
  /** `{"id":"topic-`, and `topic-` as a header has it behind its name. */
  readonly #start: Buffer;
  readonly #topicDash: Buffer;
  readonly #eventId: Buffer;
  #job: JobContext | undefined;
  /** From the metadata to the partition, and from the timestamp on. */
  #before: Buffer = Buffer.alloc(0);
  #after: Buffer = Buffer.alloc(0);

  constructor(
    header: ResultHeader,
    { topic, includeContent }: DecisionOptions,
    plans: MetadataPlans,
  ) {
    this.#header = header;
    this.#topic = topic;
    this.#includesContent = includeContent && header.content !== -1;
    // A shape with escapes is none of ours, nor is it read here.
    this.#plans = new CellMemo(plans.byShape);
    this.#start = Buffer.from(`{"id":${JSON.stringify(`${topic}-`).slice(0, -1)}`);
    this.#topicDash = Buffer.from(`${topic}-`);
    const name = Buffer.from(DEAD_LETTER_HEADERS.eventId);
    // One header, and its name.
    this.#eventId = Buffer.concat([Buffer.from([2, name.length * 2]), name]);
  }

  /**
   * Writes the decision of a row.
   * @param bytes of the scanned row, all of them UTF-8
   * @returns false for a row that is not ordinary: the slice is as it was
   * @throws RangeError when the job's time is none
   */
  write(row: RowScanner, bytes: Buffer, job: JobContext, slice: SliceWriter): boolean {
    const header = this.#header;
    if (row.cells !== header.width || !isSuccess(row, bytes, header.status)) return false;
    const reference = this.#reference;
    const named = header.reference;
    if (named === -1 || row.forms[named] === BARE) return false;
    if (!reference.read(bytes, row.starts[named] as number, row.ends[named] as number))
      return false;
    const { shapeStart, shapeEnd } = reference;
    const plan = shapeStart === -1 ? NO_PARTS : this.#plans.at(bytes, shapeStart, shapeEnd, false);
    const labels = header.labels === -1 ? NO_LABELS : this.#labels.of(row, bytes, header.labels);
    if (plan === undefined || labels === undefined || !this.#isWhole(plan, row, bytes))
      return false;
    if (job !== this.#job) this.#setJob(job);
    const most = this.#mostBytes(plan, labels, row);
    if (most > MAX_RECORD_BYTES) return false;
    const result =
      header.result === -1 ? undefined : this.#results.of(row, bytes, header.result) || undefined;
    const { partition, offset } = reference;
    const to = slice.reserve(most);
    slice.add(
      partition,
      offset,
      false,
      result,
      this.#record(to, slice.end, row, bytes, plan, labels),
    );
    return true;
  }

  #record(
    to: Buffer,
    start: number,
    row: RowScanner,
    bytes: Buffer,
    plan: MetadataPlan,
    labels: Buffer,
  ): number {
    const { partition, offset, keyStart, keyEnd } = this.#reference;
    const keyBytes = keyStart === -1 ? -1 : keyEnd - keyStart;
    let at = writeVarint(to, keyBytes, start);
    if (keyBytes > 0) at = put(to, bytes, keyStart, keyEnd, at);
    const value = at + LENGTH_BYTES;
    let end = this.#value(to, value, row, bytes, plan, labels);
    // The length is known now.
    const length = end - value;
    const lengthBytes = varintSize(length);
    if (lengthBytes !== LENGTH_BYTES) {
      to.copyWithin(at + lengthBytes, value, end);
      end += lengthBytes - LENGTH_BYTES;
    }
    writeVarint(to, length, at);
    end = putAll(to, this.#eventId, end);
    end = writeVarint(to, this.#topicDash.length + digitsOf(partition) + 1 + digitsOf(offset), end);
    end = putAll(to, this.#topicDash, end);
    return putCoordinate(to, partition, offset, end);
  }

  #value(
    to: Buffer,
    start: number,
    row: RowScanner,
    bytes: Buffer,
    plan: MetadataPlan,
    labels: Buffer,
  ): number {
    const { partition, offset, timestampMs, keyStart, keyEnd } = this.#reference;
    const header = this.#header;
    let at = putCoordinate(to, partition, offset, putAll(to, this.#start, start));
    at = putTextOrNull(to, row, bytes, header.result, putAll(to, AFTER_ID, at));
    at = putTextOrNull(to, row, bytes, header.expected, putAll(to, EXPECTED, at));
    at = putAll(to, labels, putAll(to, LABELS, at));
    at = putAll(to, METADATA, at);
    for (let part = 0; part < plan.length; part++) {
      const { index, leadBytes, json } = plan[part] as MetadataPlan[number];
      at = putAll(to, leadBytes, at);
      const from = row.starts[index] as number;
      const end = row.ends[index] as number;
      const isDoubled = row.forms[index] === DOUBLED;
      at = json
        ? putCell(to, bytes, from, end, isDoubled, at)
        : putString(to, bytes, from, end, isDoubled, at);
    }
    if (this.#includesContent) {
      const { content } = header;
      at = putAll(to, CONTENT, at);
      at = putString(
        to,
        bytes,
        row.starts[content] as number,
        row.ends[content] as number,
        row.forms[content] === DOUBLED,
        at,
      );
      // Its first byte ends the metadata.
      at = put(to, this.#before, 1, this.#before.length, at);
    } else at = putAll(to, this.#before, at);
    at = writeCount(to, partition, at);
    at = writeCount(to, offset, putAll(to, OFFSET, at));
    at = putAll(to, KEY, at);
    at = keyStart === -1 ? putAll(to, NULL, at) : putString(to, bytes, keyStart, keyEnd, false, at);
    at = this.#instants.put(to, timestampMs, putAll(to, TIMESTAMP, at));
    return putAll(to, this.#after, at);
  }

  /** Whether the cells of the metadata are what was uploaded. */
  #isWhole(plan: MetadataPlan, row: RowScanner, bytes: Buffer): boolean {
    for (let part = 0; part < plan.length; part++) {
      const { index, json } = plan[part] as MetadataPlan[number];
      if (!json || isPlainNumber(bytes, row.starts[index] as number, row.ends[index] as number))
        continue;
      if (!this.#json.of(row, bytes, index)) return false;
    }
    return true;
  }

  #mostBytes(plan: MetadataPlan, labels: Buffer, row: RowScanner): number {
    const { result, expected, content } = this.#header;
    const { keyStart, keyEnd } = this.#reference;
    const ofTopic = this.#start.length + this.#topicDash.length;
    const ofJob = this.#before.length + this.#after.length;
    const cells =
      sizeOf(row, result) +
      sizeOf(row, expected) +
      (this.#includesContent ? sizeOf(row, content) : 0);
    let bytes =
      FIXED_BYTES + ofTopic + ofJob + labels.length + (keyEnd - keyStart) * 2 + cells * MAX_ESCAPE;
    for (let part = 0; part < plan.length; part++) {
      const { index, leadBytes } = plan[part] as MetadataPlan[number];
      bytes += leadBytes.length + 2 + sizeOf(row, index) * MAX_ESCAPE;
    }
    return bytes;
  }

  #setJob(job: JobContext): void {
    const { batch, end } = jobParts(this.#topic, job);
    this.#before = Buffer.from(`},"error":null${batch}"partition":`);
    this.#after = Buffer.from(`"${end}`);
    this.#job = job;
  }
}

const NO_LABELS = Buffer.from('[]');

/** Undefined for labels that are not JSON, which are for the reader of rows to notice. */
function labelBytes(text: string): Buffer | undefined {
  const { json, raw } = readLabels(text);
  return raw === undefined ? Buffer.from(json) : undefined;
}

function isSuccess(row: RowScanner, bytes: Buffer, column: number): boolean {
  if (column === -1 || sizeOf(row, column) !== SUCCESS.length) return false;
  const start = row.starts[column] as number;
  for (let at = 0; at < SUCCESS.length; at++) if (bytes[start + at] !== SUCCESS[at]) return false;
  return true;
}

function sizeOf(row: RowScanner, column: number): number {
  return column === -1 ? 0 : (row.ends[column] as number) - (row.starts[column] as number);
}

function putTextOrNull(
  to: Buffer,
  row: RowScanner,
  bytes: Buffer,
  column: number,
  at: number,
): number {
  if (sizeOf(row, column) === 0) return putAll(to, NULL, at);
  return putString(
    to,
    bytes,
    row.starts[column] as number,
    row.ends[column] as number,
    row.forms[column] === DOUBLED,
    at,
  );
}

function putCoordinate(to: Buffer, partition: number, offset: number, start: number): number {
  const at = writeCount(to, partition, start);
  to[at] = DASH;
  return writeCount(to, offset, at + 1);
}
