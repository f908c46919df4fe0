/**
 * Writer of decisions (contracts/decision.schema.json) from the cells of result rows. It runs once
 * per row, so cells are copied from bytes to bytes, without a text or an object in between.
 */

import { isJsonText } from '../../../base/exact-json.ts';
import { shownCode } from '../../../base/shown-code.ts';
import type { SliceWriter } from '../../../core/bytes/slice-writer.ts';
import { varintSize, writeVarint } from '../../../core/bytes/varint.ts';
import { DEAD_LETTER_HEADERS, eventId } from '../../../core/outcome/dead-letter.ts';
import { crashOf, internalPoison } from '../../../core/outcome/internal-error.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { sourceMembers, terminalHeaders, terminalKey } from '../../../events/terminal-parts.ts';
import { normaliseDecisionStatus, RESULT_COLUMNS } from '../../../service/contract.ts';
import { type DecisionOptions, jobParts } from '../decision.ts';
import { digitsOf, writeCount } from '../number-bytes.ts';
import type { Reference } from '../reference.ts';
import { CellMemo } from './cell-memo.ts';
import {
  InstantBytes,
  isPlainNumber,
  MAX_ESCAPE,
  put,
  putAll,
  putCell,
  putString,
  stringSize,
} from './json-bytes.ts';
import { readLabels } from './labels.ts';
import { type MetadataPart, type MetadataPlan, MetadataPlans } from './metadata-plans.ts';
import type { ResultNotice } from './notices.ts';
import { ReferenceBytes } from './reference-bytes.ts';
import type { ResultHeader } from './result-header.ts';
import type { RowScanner } from './row-scanner.ts';

/** JSON of a decision that a cell determines. */
interface StatusPart {
  readonly json: Buffer;
  readonly isError: boolean;
}
interface LabelPart {
  readonly json: Buffer;
  readonly isJson: boolean;
}

const SUCCESS: StatusPart = { json: Buffer.from('"SUCCESS"'), isError: false };
const ERROR: StatusPart = { json: Buffer.from('"ERROR"'), isError: true };
const NO_LABELS: LabelPart = { json: Buffer.from('[]'), isJson: true };
const NO_PLAN: MetadataPlan = [];

const NULL = Buffer.from('null');
const STATUS = Buffer.from('","status":');
const RESULT = Buffer.from(',"result":');
const EXPECTED = Buffer.from(',"expected_result":');
const LABELS = Buffer.from(',"labels":');
const METADATA = Buffer.from(',"metadata":{');
const CONTENT = Buffer.from(',"content":');
const NO_ERROR = Buffer.from(',"error":null');
/** Error of an item for which the service reports an error without a reason. */
const REVIEW_FAILED = Buffer.from(
  ',"error":{"code":"review_failed","message":"The service could not review this item."}',
);
const PARTITION = Buffer.from('"partition":');
const OFFSET = Buffer.from(',"offset":');
const KEY = Buffer.from(',"key":');
const TIMESTAMP = Buffer.from(',"timestamp":"');
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const DASH = 0x2d;
const CLOSING = 0x7d;

/** Room of a record beside its cells and the texts of its job, bytes: numbers, lengths, names. */
const FIXED_BYTES = 512;
/** The size of a record that may be larger is counted instead of bounded. */
const MAX_BOUND_BYTES = 256 * 1024;
/** Bytes of the length before a value, as a rule. */
const LENGTH_BYTES = 2;

export class DecisionWriter {
  readonly #header: ResultHeader;
  readonly #names: readonly string[];
  readonly #topic: string;
  readonly #includesContent: boolean;
  readonly #onNotice: (notice: ResultNotice) => void;
  readonly #plans: MetadataPlans;
  readonly #labels = new CellMemo(labelPart, ({ json }) => json.length);
  readonly #results = new CellMemo((text) => text);
  readonly #json = new CellMemo(isJsonText);
  readonly #reference = new ReferenceBytes();
  readonly #instants = new InstantBytes();
  /** `{"id":"topic-`, and `topic-` as in a header behind its name. */
  readonly #start: Buffer;
  readonly #topicDash: Buffer;
  readonly #eventId: Buffer;
  #job: JobContext | undefined;
  /** Between error and source, and behind source. */
  #batch: Buffer = Buffer.alloc(0);
  #end: Buffer = Buffer.alloc(0);
  /** Parts of the current row. */
  #plan: MetadataPlan = NO_PLAN;
  #label: LabelPart = NO_LABELS;
  #status: StatusPart = SUCCESS;

  /** @param names of the file's columns */
  constructor(
    header: ResultHeader,
    names: readonly string[],
    { topic, includeContent }: DecisionOptions,
    onNotice: (notice: ResultNotice) => void,
  ) {
    this.#header = header;
    this.#names = names;
    this.#topic = topic;
    this.#includesContent = includeContent && header.content !== -1;
    this.#onNotice = onNotice;
    this.#plans = new MetadataPlans(header);
    this.#start = Buffer.from(`{"id":${JSON.stringify(`${topic}-`).slice(0, -1)}`);
    this.#topicDash = Buffer.from(`${topic}-`);
    const name = Buffer.from(DEAD_LETTER_HEADERS.eventId);
    // One header, and its name.
    this.#eventId = Buffer.concat([Buffer.from([2, name.length * 2]), name]);
    if (header.result === -1) onNotice({ kind: 'missing_result_column', value: '' });
    if (header.several)
      onNotice({ kind: 'several_result_columns', value: names[header.result] ?? '' });
    if (header.status === -1) onNotice({ kind: 'missing_column', value: RESULT_COLUMNS.status });
    if (header.labels === -1) onNotice({ kind: 'missing_column', value: RESULT_COLUMNS.labels });
  }

  /**
   * Writes the decision of a row, or the reason why it has none, into the slice. Never throws.
   * @param bytes of the row, in UTF-8
   */
  write(row: RowScanner, bytes: Buffer, job: JobContext, slice: SliceWriter): void {
    const reference = this.#reference;
    reference.partition = -1;
    try {
      const malformed = this.#write(row, bytes, job, slice);
      if (malformed !== undefined) slice.addRow({ malformed });
    } catch (error) {
      const { partition, offset } = reference;
      slice.addRow(
        partition === -1
          ? { malformed: 'the connector failed on this row', crash: crashOf(error) }
          : { partition, offset, poison: internalPoison(error) },
      );
    }
  }

  /** To be called after the last row: reports the columns that no row has used. */
  finish(): void {
    for (const index of this.#plans.unclaimed())
      this.#onNotice({ kind: 'unknown_column', value: this.#names[index] ?? '' });
  }

  /** @returns the reason why the row has no decision */
  #write(row: RowScanner, bytes: Buffer, job: JobContext, slice: SliceWriter): string | undefined {
    const header = this.#header;
    const reference = this.#reference;
    if (row.cells !== header.width)
      return `the row has ${row.cells} cells, the header ${header.width}`;
    const at = header.reference;
    const start = row.starts[at] as number;
    const problem = reference.read(bytes, start, row.ends[at] as number, row.doubled[at] === 1);
    if (problem !== undefined) return problem;

    const plan = this.#planOf(bytes);
    if (plan === undefined)
      return 'the reference names a metadata column that the result file lacks, or one twice';
    this.#plan = plan;
    if (!this.#isWhole(row, bytes)) return 'a metadata cell is not the JSON that was uploaded';
    const status = isSuccess(row, bytes, header.status) ? SUCCESS : this.#statusOf(row, bytes);
    if (status === undefined)
      return 'the row has neither a result nor a status that says how its review ended';
    this.#status = status;
    this.#label = header.labels === -1 ? NO_LABELS : this.#labels.ofCell(row, bytes, header.labels);
    if (!this.#label.isJson) this.#onNotice({ kind: 'labels_not_json', value: '' });
    if (job !== this.#job) this.#setJob(job);

    const bound = this.#mostBytes(row, bytes, false);
    const most = bound > MAX_BOUND_BYTES ? this.#mostBytes(row, bytes, true) : bound;
    const result =
      header.result === -1
        ? undefined
        : this.#results.ofCell(row, bytes, header.result) || undefined;
    const { partition, offset, uncommon } = reference;
    if (uncommon === undefined) {
      const end = this.#record(slice.reserve(most), slice.end, row, bytes);
      slice.add(partition, offset, status.isError, result, end);
      return undefined;
    }
    const value = Buffer.allocUnsafe(most);
    const id = eventId(this.#topic, uncommon, uncommon.replay);
    slice.addRow({
      partition,
      offset,
      status: status.isError ? 'error' : 'success',
      result,
      record: {
        key: terminalKey(uncommon),
        value: value.subarray(0, this.#value(value, 0, row, bytes)),
        headers: terminalHeaders(uncommon.headers, id),
      },
    });
    return undefined;
  }

  /** Returns the plan of the reference's shape; undefined for an invalid shape. */
  #planOf(bytes: Buffer): MetadataPlan | undefined {
    const { shapeStart, shapeEnd, uncommon } = this.#reference;
    const { byShape } = this.#plans;
    if (uncommon === undefined)
      return shapeStart === -1 ? NO_PLAN : byShape.at(bytes, shapeStart, shapeEnd, false);
    for (const [key] of uncommon.metadata ?? []) this.#plans.claim(key);
    return uncommon.shape === undefined ? NO_PLAN : byShape.of(uncommon.shape);
  }

  /** Whether the JSON cells of the metadata are JSON, as they were uploaded. */
  #isWhole(row: RowScanner, bytes: Buffer): boolean {
    for (let part = 0; part < this.#plan.length; part++) {
      const { index, json } = this.#plan[part] as MetadataPart;
      if (!json || isPlainNumber(bytes, row.starts[index] as number, row.ends[index] as number))
        continue;
      if (!this.#json.ofCell(row, bytes, index)) return false;
    }
    return true;
  }

  /** Reads any other status than SUCCESS. An unknown one is a success if there is a result. */
  #statusOf(row: RowScanner, bytes: Buffer): StatusPart | undefined {
    const { status, result } = this.#header;
    const text = status === -1 ? '' : row.text(bytes, status).trim();
    const known = text.toUpperCase();
    if (known === 'SUCCESS') return SUCCESS;
    if (known === 'ERROR') return ERROR;
    const hasResult = sizeOf(row, result) > 0;
    if (!hasResult && (text === '' || normaliseDecisionStatus(text) === 'PENDING'))
      return undefined;
    // In a file whose cells have shifted the text may be content.
    if (status !== -1) this.#onNotice({ kind: 'unknown_status', value: shownCode(text) ?? '' });
    const part = hasResult ? SUCCESS : ERROR;
    if (text === '') return part;
    return { ...part, json: Buffer.from(`${part.json},"service_status":${JSON.stringify(text)}`) };
  }

  /** Writes a record with a common reference. */
  #record(to: Buffer, start: number, row: RowScanner, bytes: Buffer): number {
    const { partition, offset, keyStart, keyEnd } = this.#reference;
    const keyBytes = keyStart === -1 ? -1 : keyEnd - keyStart;
    let at = writeVarint(to, keyBytes, start);
    if (keyBytes > 0) at = put(to, bytes, keyStart, keyEnd, at);
    const value = at + LENGTH_BYTES;
    let end = this.#value(to, value, row, bytes);
    // The length is known now.
    const length = end - value;
    const lengthBytes = varintSize(length);
    if (lengthBytes !== LENGTH_BYTES) {
      to.copyWithin(at + lengthBytes, value, end);
      end += lengthBytes - LENGTH_BYTES;
    }
    writeVarint(to, length, at);
    end = putAll(to, this.#eventId, end);
    const idBytes = this.#topicDash.length + digitsOf(partition) + 1 + digitsOf(offset);
    end = writeVarint(to, idBytes, end);
    end = putAll(to, this.#topicDash, end);
    return putCoordinate(to, partition, offset, end);
  }

  #value(to: Buffer, start: number, row: RowScanner, bytes: Buffer): number {
    const { partition, offset, uncommon } = this.#reference;
    const { result, expected, content } = this.#header;
    let at = putCoordinate(to, partition, offset, putAll(to, this.#start, start));
    if (uncommon !== undefined && uncommon.replay > 0) at = putText(to, `#${uncommon.replay}`, at);
    at = putAll(to, this.#status.json, putAll(to, STATUS, at));
    at = putTextOrNull(to, row, bytes, result, putAll(to, RESULT, at));
    at = putAll(to, EXPECTED, at);
    at =
      uncommon?.expected === undefined
        ? putTextOrNull(to, row, bytes, expected, at)
        : putText(to, JSON.stringify(uncommon.expected), at);
    at = putAll(to, this.#label.json, putAll(to, LABELS, at));
    at = this.#metadata(to, row, bytes, putAll(to, METADATA, at));
    if (this.#includesContent) {
      const first = row.starts[content] as number;
      const isEscaped = uncommon?.escapedContent === true && bytes[first] === APOSTROPHE;
      const from = isEscaped ? first + 1 : first;
      at = putAll(to, CONTENT, at);
      at = putString(to, bytes, from, row.ends[content] as number, row.doubled[content] === 1, at);
    }
    at = putAll(to, this.#status.isError ? REVIEW_FAILED : NO_ERROR, at);
    at = putAll(to, this.#batch, at);
    at =
      uncommon === undefined
        ? this.#source(to, bytes, at)
        : putText(to, sourceMembers(uncommon), at);
    return putAll(to, this.#end, at);
  }

  #metadata(to: Buffer, row: RowScanner, bytes: Buffer, start: number): number {
    let at = start;
    for (let part = 0; part < this.#plan.length; part++) {
      const { index, lead, json } = this.#plan[part] as MetadataPart;
      at = putAll(to, lead, at);
      const from = row.starts[index] as number;
      const end = row.ends[index] as number;
      const isDoubled = row.doubled[index] === 1;
      at = (json ? putCell : putString)(to, bytes, from, end, isDoubled, at);
    }
    for (const [key, json] of this.#reference.uncommon?.metadata ?? [])
      at = putText(to, `${at === start ? '' : ','}${JSON.stringify(key)}:${json}`, at);
    to[at] = CLOSING;
    return at + 1;
  }

  /** Writes the members of `source` of a common reference. */
  #source(to: Buffer, bytes: Buffer, start: number): number {
    const { partition, offset, timestampMs, keyStart, keyEnd } = this.#reference;
    let at = writeCount(to, partition, putAll(to, PARTITION, start));
    at = writeCount(to, offset, putAll(to, OFFSET, at));
    at = putAll(to, KEY, at);
    at = keyStart === -1 ? putAll(to, NULL, at) : putString(to, bytes, keyStart, keyEnd, false, at);
    at = this.#instants.put(to, timestampMs, putAll(to, TIMESTAMP, at));
    to[at] = QUOTE;
    return at + 1;
  }

  /** Returns an upper bound of the record's size. @param isExact whether texts are counted */
  #mostBytes(row: RowScanner, bytes: Buffer, isExact: boolean): number {
    const { result, expected, content, reference } = this.#header;
    const { keyStart, keyEnd, uncommon } = this.#reference;
    let most =
      FIXED_BYTES +
      this.#start.length +
      this.#topicDash.length +
      this.#batch.length +
      this.#end.length +
      this.#label.json.length +
      this.#status.json.length +
      textRoom(row, bytes, result, isExact) +
      textRoom(row, bytes, expected, isExact) +
      (this.#includesContent ? textRoom(row, bytes, content, isExact) : 0) +
      (uncommon === undefined
        ? (keyEnd - keyStart) * 2
        : sizeOf(row, reference) + keyRoom(uncommon));
    for (let part = 0; part < this.#plan.length; part++) {
      const { index, lead } = this.#plan[part] as MetadataPart;
      most += lead.length + textRoom(row, bytes, index, isExact);
    }
    return most;
  }

  /** @throws RangeError when the time of the job is invalid */
  #setJob(job: JobContext): void {
    const { batch, end } = jobParts(this.#topic, job);
    this.#batch = Buffer.from(batch);
    this.#end = Buffer.from(end);
    this.#job = job;
  }
}

function labelPart(text: string): LabelPart {
  const { json, raw } = readLabels(text);
  const rawPart = raw === undefined ? '' : `,"labels_raw":${JSON.stringify(raw)}`;
  return { json: Buffer.from(json + rawPart), isJson: raw === undefined };
}

function isSuccess(row: RowScanner, bytes: Buffer, column: number): boolean {
  // Behind the quote of the JSON.
  const word = SUCCESS.json;
  if (sizeOf(row, column) !== word.length - 2) return false;
  const start = row.starts[column] as number;
  for (let at = 1; at < word.length - 1; at++) if (bytes[start + at - 1] !== word[at]) return false;
  return true;
}

/** Bytes of a cell; 0 for a column that the file lacks. */
function sizeOf(row: RowScanner, column: number): number {
  return column === -1 ? 0 : (row.ends[column] as number) - (row.starts[column] as number);
}

/** Most bytes of a cell as JSON. */
function textRoom(row: RowScanner, bytes: Buffer, column: number, isExact: boolean): number {
  if (column === -1) return 0;
  if (!isExact) return 2 + sizeOf(row, column) * MAX_ESCAPE;
  return stringSize(bytes, row.starts[column] as number, row.ends[column] as number);
}

function keyRoom({ key }: Reference): number {
  return key === null ? 0 : key.length * MAX_ESCAPE;
}

function putText(to: Buffer, text: string, at: number): number {
  return at + to.write(text, at);
}

function putTextOrNull(
  to: Buffer,
  row: RowScanner,
  bytes: Buffer,
  column: number,
  at: number,
): number {
  if (sizeOf(row, column) === 0) return putAll(to, NULL, at);
  const start = row.starts[column] as number;
  return putString(to, bytes, start, row.ends[column] as number, row.doubled[column] === 1, at);
}

function putCoordinate(to: Buffer, partition: number, offset: number, start: number): number {
  const at = writeCount(to, partition, start);
  to[at] = DASH;
  return writeCount(to, offset, at + 1);
}
