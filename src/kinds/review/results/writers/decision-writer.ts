/**
 * Writer of decisions (contracts/decision.schema.json) from the cells of result rows. It runs once
 * per row, so cells are copied from bytes to bytes, without a text or an object in between.
 */

import { isJsonText } from '../../../../base/json/exact-json.ts';
import { varintSize, writeVarint } from '../../../../base/varint.ts';
import type { SliceWriter } from '../../../../core/bytes/slice-writer.ts';
import { DEAD_LETTER_HEADERS, eventId } from '../../../../core/outcome/dead-letter.ts';
import { crashOf, internalPoison } from '../../../../core/outcome/internal-error.ts';
import type { JobContext } from '../../../../core/ports/pipeline-kind.ts';
import { sourceMembers, terminalHeaders, terminalKey } from '../../../../events/terminal-parts.ts';
import { RESULT_COLUMNS } from '../../../../service/contract.ts';
import { type DecisionOptions, jobParts } from '../../decision.ts';
import { digitsOf } from '../../number-bytes.ts';
import { FORGED } from '../../row-signature.ts';
import { CellMemo } from '../cell-memo.ts';
import { type MetadataPart, type MetadataPlan, MetadataPlans } from '../metadata-plans.ts';
import type { ResultNotice } from '../notices.ts';
import type { ResultHeader } from '../result-header.ts';
import type { RowScanner } from '../row-scanner.ts';
import { labelPart, NO_LABELS, SUCCESS, statusPart } from './decision-parts.ts';
import { isPlainNumber, JsonWriter, MAX_ESCAPE, stringSize } from './json-writer.ts';
import { ReferenceBytes } from './reference-bytes.ts';

const NO_PLAN: MetadataPlan = [];

const STATUS = Buffer.from('","status":');
const RESULT = Buffer.from(',"result":');
const EXPECTED = Buffer.from(',"expected_result":');
const LABELS = Buffer.from(',"labels":');
const METADATA = Buffer.from(',"metadata":{');
const CONTENT = Buffer.from('},"content":');
const NO_CONTENT = Buffer.from('}');
const NO_ERROR = Buffer.from(',"error":null');
/** Error of an item for which the service reports an error without a reason. */
const REVIEW_FAILED = Buffer.from(
  ',"error":{"code":"review_failed","message":"The service could not review this item."}',
);
const PARTITION = Buffer.from('"partition":');
const OFFSET = Buffer.from(',"offset":');
const KEY = Buffer.from(',"key":');
const TIMESTAMP = Buffer.from(',"timestamp":"');
const NULL = Buffer.from('null');
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const DASH = 0x2d;

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
  /** Results and expected results. */
  readonly #texts = new CellMemo((text) => text);
  readonly #json = new CellMemo(isJsonText);
  readonly #reference = new ReferenceBytes();
  readonly #out = new JsonWriter();
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
  #label = NO_LABELS;
  #status = SUCCESS;

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

  /** Writes the decision of a row of UTF-8, or the reason why it has none. Never throws. */
  write(row: RowScanner, job: JobContext, slice: SliceWriter): void {
    const reference = this.#reference;
    reference.partition = -1;
    try {
      const malformed = this.#write(row, job, slice);
      if (malformed !== undefined)
        slice.addRow(malformed === FORGED ? { malformed, forged: true } : { malformed });
    } catch (error) {
      const { partition, offset } = reference;
      slice.addRow(
        partition === -1
          ? { malformed: 'the connector failed on this row', crash: crashOf(error) }
          : { partition, offset, poison: internalPoison(error) },
      );
    }
  }

  /** Reports the columns that no row has used; to be called after the last row. */
  finish(): void {
    for (const index of this.#plans.unclaimed())
      this.#onNotice({ kind: 'unknown_column', value: this.#names[index] ?? '' });
  }

  /** @returns the reason why the row has no decision */
  #write(row: RowScanner, job: JobContext, slice: SliceWriter): string | undefined {
    const header = this.#header;
    const reference = this.#reference;
    if (row.cells !== header.width)
      return `the row has ${row.cells} cells, the header ${header.width}`;
    const problem = reference.read(row, header.reference, job.rowKey);
    if (problem !== undefined) return problem;

    const plan = this.#planOf(row);
    if (plan === undefined)
      return 'the reference names a metadata column that the result file lacks, or one twice';
    this.#plan = plan;
    if (!this.#isWhole(row)) return 'a metadata cell is not the JSON that was uploaded';
    const status = statusPart(row, header, this.#onNotice);
    if (status === undefined)
      return 'the row has neither a result nor a status that says how its review ended';
    const labels = header.labels === -1 ? NO_LABELS : this.#labels.ofCell(row, header.labels);
    if (!labels.isJson) this.#onNotice({ kind: 'labels_not_json', value: '' });
    if (job !== this.#job) this.#setJob(job);
    this.#label = labels;
    this.#status = status;

    const bound = this.#mostBytes(row, false);
    const most = bound > MAX_BOUND_BYTES ? this.#mostBytes(row, true) : bound;
    const { partition, offset, uncommon } = reference;
    const result = this.#textOf(row, header.result);
    const expected = uncommon?.expected ?? this.#textOf(row, header.expected);
    const out = this.#out;
    if (uncommon === undefined) {
      out.to = slice.reserve(most);
      out.at = slice.end;
      this.#record(row);
      slice.add(partition, offset, status.isError, result, expected, out.at);
      return undefined;
    }
    out.to = Buffer.allocUnsafe(most);
    out.at = 0;
    this.#value(row);
    slice.addRow({
      partition,
      offset,
      status: status.isError ? 'error' : 'success',
      result,
      expected,
      record: {
        key: terminalKey(uncommon),
        value: out.to.subarray(0, out.at),
        headers: terminalHeaders(uncommon.headers, eventId(this.#topic, uncommon, uncommon.replay)),
      },
    });
    return undefined;
  }

  /** Returns the plan of the reference's shape; undefined for an invalid shape. */
  #planOf(row: RowScanner): MetadataPlan | undefined {
    const { shapeStart, shapeEnd, uncommon } = this.#reference;
    const { byShape } = this.#plans;
    if (uncommon === undefined)
      return shapeStart === -1 ? NO_PLAN : byShape.at(row.bytes, shapeStart, shapeEnd, false);
    for (const [key] of uncommon.metadata ?? []) this.#plans.claim(key);
    return uncommon.shape === undefined ? NO_PLAN : byShape.of(uncommon.shape);
  }

  /** True unless a cell of the plan that was uploaded as JSON is not JSON. */
  #isWhole(row: RowScanner): boolean {
    for (let part = 0; part < this.#plan.length; part++) {
      const { index, json } = this.#plan[part] as MetadataPart;
      if (!json || isPlainNumber(row.bytes, row.start(index), row.end(index))) continue;
      if (!this.#json.ofCell(row, index)) return false;
    }
    return true;
  }

  /** Writes a record with a common reference. */
  #record(row: RowScanner): void {
    const out = this.#out;
    const { partition, offset, keyStart, keyEnd } = this.#reference;
    const keyBytes = keyStart === -1 ? -1 : keyEnd - keyStart;
    out.at = writeVarint(out.to, keyBytes, out.at);
    if (keyBytes > 0) out.range(row.bytes, keyStart, keyEnd);
    const start = out.at;
    out.at += LENGTH_BYTES;
    this.#value(row);
    // The length is known now.
    const length = out.at - start - LENGTH_BYTES;
    const lengthBytes = varintSize(length);
    if (lengthBytes !== LENGTH_BYTES) {
      out.to.copyWithin(start + lengthBytes, start + LENGTH_BYTES, out.at);
      out.at += lengthBytes - LENGTH_BYTES;
    }
    writeVarint(out.to, length, start);
    out.bytes(this.#eventId);
    const idBytes = this.#topicDash.length + digitsOf(partition) + 1 + digitsOf(offset);
    out.at = writeVarint(out.to, idBytes, out.at);
    out.bytes(this.#topicDash);
    this.#coordinate();
  }

  #value(row: RowScanner): void {
    const out = this.#out;
    const { uncommon } = this.#reference;
    const { result, expected, content } = this.#header;
    out.bytes(this.#start);
    this.#coordinate();
    if (uncommon !== undefined && uncommon.replay > 0) out.text(`#${uncommon.replay}`);
    out.bytes(STATUS);
    out.bytes(this.#status.json);
    out.bytes(RESULT);
    this.#textOrNull(row, result);
    out.bytes(EXPECTED);
    if (uncommon?.expected === undefined) this.#textOrNull(row, expected);
    else out.text(JSON.stringify(uncommon.expected));
    out.bytes(LABELS);
    out.bytes(this.#label.json);
    this.#metadata(row);
    if (this.#includesContent) {
      out.bytes(CONTENT);
      const isEscaped =
        uncommon?.escapedContent === true && row.bytes[row.start(content)] === APOSTROPHE;
      out.cellString(row, content, isEscaped && row.size(content) > 0 ? 1 : 0);
    } else out.bytes(NO_CONTENT);
    out.bytes(this.#status.isError ? REVIEW_FAILED : NO_ERROR);
    out.bytes(this.#batch);
    if (uncommon === undefined) this.#source(row);
    else out.text(sourceMembers(uncommon));
    out.bytes(this.#end);
  }

  #metadata(row: RowScanner): void {
    const out = this.#out;
    out.bytes(METADATA);
    for (let part = 0; part < this.#plan.length; part++) {
      const { index, lead, json } = this.#plan[part] as MetadataPart;
      out.bytes(lead);
      if (json) out.cell(row, index);
      else out.cellString(row, index);
    }
    let comma = this.#plan.length === 0 ? '' : ',';
    for (const [key, json] of this.#reference.uncommon?.metadata ?? []) {
      out.text(`${comma}${JSON.stringify(key)}:${json}`);
      comma = ',';
    }
  }

  /** Writes the members of `source` of a common reference. */
  #source(row: RowScanner): void {
    const out = this.#out;
    const { partition, offset, timestampMs, keyStart, keyEnd } = this.#reference;
    out.bytes(PARTITION);
    out.count(partition);
    out.bytes(OFFSET);
    out.count(offset);
    out.bytes(KEY);
    if (keyStart === -1) out.bytes(NULL);
    else out.string(row.bytes, keyStart, keyEnd, false);
    out.bytes(TIMESTAMP);
    out.instant(timestampMs);
    out.byte(QUOTE);
  }

  #coordinate(): void {
    const { partition, offset } = this.#reference;
    this.#out.count(partition);
    this.#out.byte(DASH);
    this.#out.count(offset);
  }

  #textOf(row: RowScanner, column: number): string | undefined {
    return row.size(column) === 0 ? undefined : this.#texts.ofCell(row, column);
  }

  #textOrNull(row: RowScanner, column: number): void {
    if (row.size(column) === 0) this.#out.bytes(NULL);
    else this.#out.cellString(row, column);
  }

  /** Returns an upper bound of the record's size. @param isExact whether texts are counted */
  #mostBytes(row: RowScanner, isExact: boolean): number {
    const { result, expected, content, reference } = this.#header;
    const { keyStart, keyEnd, uncommon } = this.#reference;
    const ofReference =
      uncommon === undefined
        ? (keyEnd - keyStart) * 2
        : row.size(reference) + (uncommon.key?.length ?? 0) * MAX_ESCAPE;
    let most =
      FIXED_BYTES +
      ofReference +
      this.#start.length +
      this.#topicDash.length +
      this.#batch.length +
      this.#end.length +
      this.#label.json.length +
      this.#status.json.length +
      textRoom(row, result, isExact) +
      textRoom(row, expected, isExact) +
      (this.#includesContent ? textRoom(row, content, isExact) : 0);
    for (let part = 0; part < this.#plan.length; part++) {
      const { index, lead } = this.#plan[part] as MetadataPart;
      most += lead.length + textRoom(row, index, isExact);
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

/** Returns the most bytes of a cell as JSON. @param isExact whether they are counted */
function textRoom(row: RowScanner, column: number, isExact: boolean): number {
  if (column === -1) return 0;
  if (!isExact) return 2 + row.size(column) * MAX_ESCAPE;
  return stringSize(row.bytes, row.start(column), row.end(column));
}
