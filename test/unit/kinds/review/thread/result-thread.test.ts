import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  type ResultFile,
  type ResultFileReader,
  resultFileReader,
} from '../../../../../src/kinds/review/results/result-files.ts';
import type { ResultSettings } from '../../../../../src/kinds/review/results/result-reader.ts';
import { ResultThread } from '../../../../../src/kinds/review/results/result-thread.ts';
import type { ResultNotice } from '../../../../../src/kinds/review/results/row-decisions.ts';
import { type ItemParts, JOB, type Row, referenceOf } from '../sample.ts';

const SETTINGS: ResultSettings = { topic: 'events', resultColumn: undefined };
const FILE: ResultFile = { job: () => JOB, expectedRows: undefined };
const HEADER = 'Content,Status,Spam result,Labels,lang,connector_ref\r\n';
const row = (offset: number, parts: ItemParts = {}) =>
  `"some, text",SUCCESS,spam,,en,${referenceOf({ offset, metadata: { lang: 'en' }, ...parts })}\r\n`;

const thread = new ResultThread();
after(() => thread.close());

async function collect(reader: ResultFileReader, source: AsyncIterable<Buffer>, file = FILE) {
  const rows: Row[] = [];
  let error: unknown;
  try {
    for await (const slice of reader(source, file)) {
      rows.push(...[...slice].map(kept));
      slice.release();
    }
  } catch (caught) {
    error = caught;
  }
  return { rows, error };
}

async function* pieces(text: string, size = 50): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const readHere = () => resultFileReader(SETTINGS, () => {});
const readThere = (onNotice: (notice: ResultNotice) => void = () => {}) =>
  thread.reader(SETTINGS, onNotice);

/** Copies a row, so that the copy stays valid after its slice of rows is released. */
function kept(row: Row): Row {
  if (!('record' in row)) return row;
  const copy = (bytes: Buffer | string | null) =>
    bytes === null ? null : Buffer.from(bytes as Buffer);
  const { key, value, headers = [] } = row.record;
  return {
    ...row,
    record: {
      key: copy(key),
      value: copy(value),
      headers: headers.map(([name, bytes]) => [name, copy(bytes)]),
    },
  };
}

test('an empty file, a file without header and a truncated file end as in the main thread', async () => {
  for (const text of [
    '',
    'no,header\r\n1,2\r\n',
    `${HEADER}${row(1)}"cut`,
    `${HEADER}${row(1)}${row(2).slice(0, -20)}`,
  ]) {
    const there = await collect(readThere(), pieces(text));
    const here = await collect(readHere(), pieces(text));
    assert.ok(here.error !== undefined);
    assert.equal(String(there.error), String(here.error));
    assert.deepEqual(Object.entries(there.error as object), Object.entries(here.error as object));
    assert.deepEqual(there.rows, here.rows);
  }
});

test('an error of the source is thrown after its previous rows were returned', async () => {
  const broken = new Error('the connection broke');
  const source = async function* () {
    yield Buffer.from(HEADER + row(1) + row(2));
    yield Buffer.from(row(3));
    throw broken;
  };
  const there = await collect(readThere(), source());
  assert.equal(there.error, broken);
  assert.ok(there.rows.length >= 2);
  assert.deepEqual(there.rows, (await collect(readHere(), source())).rows);
});

test('a reader that stops early ends its source, and the thread continues with other files', async () => {
  const closed = Promise.withResolvers<void>();
  const endless = (async function* () {
    try {
      yield Buffer.from(HEADER);
      for (let n = 0; ; n++) yield Buffer.from(row(n));
    } finally {
      closed.resolve();
    }
  })();
  const read = readThere();
  for await (const rows of read(endless, FILE)) {
    rows.release();
    if (rows.length > 0) break;
  }
  await closed.promise;
  assert.equal((await collect(read, pieces(HEADER + row(1)))).rows.length, 1);
});

test('records much larger than their rows fit', async () => {
  const result = '\u0001'.repeat(1000);
  const read = readThere();
  const text =
    HEADER + Array.from({ length: 200 }, (_, n) => row(n).replace('spam', result)).join('');
  const { rows, error } = await collect(read, pieces(text, 65_536));
  assert.equal(error, undefined);
  assert.equal(rows.length, 200);
  for (const one of rows) {
    assert.ok('record' in one);
    assert.equal(JSON.parse(String(one.record.value)).result.length, 1000);
  }
});

test('a file is requested only as fast as its reader consumes it', async () => {
  let given = 0;
  const source = (async function* () {
    yield Buffer.from(HEADER);
    for (let n = 0; n < 1000; n++) {
      given = n;
      yield Buffer.from(row(n));
    }
  })();
  let taken = 0;
  for await (const rows of readThere()(source, FILE)) {
    taken += rows.length;
    rows.release();
    assert.ok(given - taken < 12, `${given} given, ${taken} taken`);
  }
  assert.equal(taken, 1000);
});

test('a decision gets the time at which its slice was requested', async () => {
  let now = Date.UTC(2026, 0, 1);
  const file = { ...FILE, job: () => ({ ...JOB, decidedAtMs: now++ }) };
  const { rows } = await collect(readThere(), pieces(HEADER + row(1) + row(2) + row(3), 70), file);
  const times = new Set(
    rows.map((one) => (!('record' in one) ? '' : JSON.parse(String(one.record.value)).decided_at)),
  );
  assert.ok(times.size > 1, [...times].join());
});

test('an exception in one row leads to poison with its record and stack frames, and its neighbours are read', async () => {
  let asked = 0;
  // Makes one row fail: a decision with an invalid time cannot be written.
  const file = { ...FILE, job: () => ({ ...JOB, decidedAtMs: asked++ === 1 ? Number.NaN : 0 }) };
  const parts = async function* () {
    for (const part of [HEADER + row(1), row(2), row(3)]) yield Buffer.from(part);
  };
  const { rows, error } = await collect(readThere(), parts(), file);
  assert.equal(error, undefined);
  assert.deepEqual(
    rows.map((one) =>
      'poison' in one ? `${one.offset} ${one.poison.reason}` : 'record' in one ? one.offset : one,
    ),
    [1, '2 internal_error', 3],
  );
  const [poison] = rows.flatMap((one) => ('poison' in one ? [one.poison] : []));
  assert.match(poison?.crash ?? '', /^RangeError\n {4}at /);
});

test('notices reach the pipeline of the file, and a last row without a line end is handled as in the main thread', async () => {
  const notices: ResultNotice[] = [];
  const other: ResultNotice[] = [];
  const read = readThere((notice) => notices.push(notice));
  thread.reader(SETTINGS, (notice) => other.push(notice));
  const header = 'Content,Status,Spam result,Labels,lang,new,connector_ref,z';
  const unended = `${header}\r\nx,SUCCESS,spam,a;b,en,1,${referenceOf()},y`;
  let wholeRow: string | undefined;
  const onUnendedRow = (digest: string) => {
    wholeRow = digest;
  };
  const withheld = await collect(read, pieces(unended), { ...FILE, onUnendedRow });
  assert.match(String(withheld.error), /may be incomplete/);
  const last = await collect(read, pieces(unended), { ...FILE, wholeRow });
  assert.equal(last.error, undefined);
  assert.equal(last.rows.length, 1);
  assert.ok(notices.some(({ kind }) => kind === 'labels_not_json'));
  assert.deepEqual(other, []);
});

test('a thread that ends fails its files, and the next file starts a new thread', async () => {
  const own = new ResultThread();
  const read = own.reader(SETTINGS, () => {});
  const stalled = Promise.withResolvers<void>();
  const reading = collect(
    read,
    (async function* () {
      yield Buffer.from(HEADER + row(1));
      await stalled.promise;
    })(),
  );
  const first = await collect(read, pieces(HEADER + row(1)));
  assert.equal(first.rows.length, 1);
  await own.close();
  stalled.resolve();
  const { error } = await reading;
  assert.match(String(error), /the thread that reads result files ended/);
  assert.equal((await collect(read, pieces(HEADER + row(1)))).rows.length, 1);
  await own.close();
});
