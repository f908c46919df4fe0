/**
 * The body of an upload (service-interface.md 2.2): RFC 4180, UTF-8 without a byte order mark, records end in CRLF.
 *
 * CRLF is what RFC 4180 says; every cell with a CR, an LF, a comma or a quote is quoted, so line ends inside content
 * stay as they are. Content that a spreadsheet would take for a formula is not touched unless asked for (formulas.ts): what is
 * reviewed is what was posted.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { stringify } from 'csv-stringify/sync';
import { unpooledBody } from '../core/bytes/no-rows.ts';
import type { EncodedBody, RowSink } from '../core/ports/row-sink.ts';
import type { ContentItem, Header } from '../core/record.ts';
import { memoryBesideText } from '../event/json-memory.ts';
import { type ColumnOptions, RowLayout } from './columns.ts';

/** Rows between two turns of the event loop: about a millisecond's work. */
const SLICE_ROWS = 256;
/** A slice also ends here, so that a few large rows do not make one huge string. */
const SLICE_BYTES = 1024 * 1024;
/**
 * Without `quote_record_delimiter`, csv-stringify 6.9 quotes a CR or an LF that stands alone only as long as no record
 * delimiter is given.
 */
const CSV = { record_delimiter: '\r\n', quote_record_delimiter: true } as const;

/** Memory of an item that is collected, beside its bytes. */
const ITEM_BYTES = 768;

/** Collects the items of an upload, and encodes them in the end. */
export class CollectedRows implements RowSink {
  readonly #columns: ColumnOptions;
  #items: ContentItem[] = [];
  #heldBytes = 0;

  constructor(columns: ColumnOptions) {
    this.#columns = columns;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  add(item: ContentItem): void {
    this.#items.push({ ...item, key: item.key && Buffer.from(item.key), headers: item.headers.map(ownHeader) });
    this.#heldBytes += item.bytes + ITEM_BYTES;
  }

  async finish(): Promise<EncodedBody> {
    const { body, rows } = await encodeCsv(this.#items, this.#columns);
    this.release();
    return unpooledBody(body, rows);
  }

  release(): void {
    this.#items = [];
    this.#heldBytes = 0;
  }
}

const ownHeader = ([name, value]: Header): Header => [name, Buffer.isBuffer(value) ? Buffer.from(value) : value];

/** Encodes a batch. The body's memory is the one large allocation; slices are written into it. */
export async function encodeCsv(
  items: readonly ContentItem[],
  columns: ColumnOptions,
): Promise<Pick<EncodedBody, 'body' | 'rows'>> {
  const layout = new RowLayout(columns);
  let estimate = 1024;
  for (const [index, item] of items.entries()) {
    layout.observe(item);
    estimate += Math.max(0, item.bytes - memoryBesideText(item.metadata));
    if (index % (SLICE_ROWS * 16) === SLICE_ROWS * 16 - 1) await nextTurn();
  }

  const body = new GrowingBuffer(estimate);
  let slice: string[][] = [layout.header()];
  let sliceBytes = 0;
  for (const item of items) {
    slice.push(layout.row(item));
    sliceBytes += item.bytes;
    if (slice.length >= SLICE_ROWS || sliceBytes >= SLICE_BYTES) {
      body.append(stringify(slice, CSV));
      slice = [];
      sliceBytes = 0;
      await nextTurn();
    }
  }
  body.append(stringify(slice, CSV));
  return { body: body.written(), rows: items.length };
}

class GrowingBuffer {
  #buffer: Buffer;
  #length = 0;

  constructor(size: number) {
    this.#buffer = Buffer.allocUnsafeSlow(size);
  }

  append(text: string): void {
    // A UTF-16 unit becomes at most three bytes: mostly there is room without counting.
    if (this.#length + text.length * 3 > this.#buffer.length) this.#reserve(this.#length + Buffer.byteLength(text));
    this.#length += this.#buffer.write(text, this.#length, 'utf8');
  }

  written(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(size: number): void {
    if (size <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.ceil(size * 1.25));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
