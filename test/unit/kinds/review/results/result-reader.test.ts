import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../../../packages/client/src/base/service-error.ts';
import { UnendedRows } from '../../../../../src/core/ports/pipeline-kind.ts';
import { reviewKind } from '../../../../../src/kinds/review/index.ts';
import type { ResultNotice } from '../../../../../src/kinds/review/results/row-decisions.ts';
import {
  collectRows,
  decisionOf,
  decisions,
  JOB,
  kindWithFile,
  type Row,
  referenceOf,
  scriptedService,
  unendedTwice,
} from '../sample.ts';

const ITEM = { metadata: { lang: 'en' }, expected: 'ham' };
const REF = referenceOf(ITEM, { includeContent: true });
const HEADER = 'Content,Status,Service result,Expected result,Labels,lang,connector_ref';

function shown(rows: readonly Row[]): unknown[] {
  return rows.map((row) =>
    'record' in row
      ? [row.partition, row.offset, row.status]
      : 'malformed' in row
        ? row.malformed
        : row,
  );
}

async function protocolError(file: string | Buffer): Promise<{ rows: Row[]; message: string }> {
  const { rows, error } = await collectRows(kindWithFile(file));
  assert.ok(error instanceof ServiceError, String(error));
  assert.equal(error.failure, 'protocol');
  assert.doesNotMatch(JSON.stringify([error.message, error.cause ?? null]), /SECRET/);
  return { rows, message: error.message };
}

test('columns are found by name, in any order, case and spacing', async () => {
  for (const [header, row] of [
    [HEADER, `hi,SUCCESS,spam,ham,[],en,${REF}`],
    [
      'connector_ref,lang,Labels,Expected result,Acme result,Status,Content',
      `${REF},en,[],ham,spam,SUCCESS,hi`,
    ],
    [
      ' CONNECTOR_REF ,lang,LABELS,expected Result,acme RESULT,status,content',
      `${REF},en,[],ham,spam, success ,hi`,
    ],
  ]) {
    for (const text of [
      `${header}\r\n${row}\r\n`,
      `${header}\n${row}\n`,
      `\ufeff${header}\n${row}\n\n`,
    ]) {
      const [record] = await decisions(kindWithFile(text));
      const value = decisionOf(record);
      assert.equal(value.status, 'SUCCESS');
      assert.equal(value.result, 'spam');
      assert.equal(value.expected_result, 'ham');
      assert.deepEqual(value.metadata, { lang: 'en' });
      assert.equal(value.content, 'hello');
    }
  }
});

test('rows without a valid reference are malformed and do not hide other rows', async () => {
  const good = `x,SUCCESS,spam,,,en,${REF}`;
  const bad = [
    'x,SUCCESS,spam,,,en,',
    'x,SUCCESS,spam,,,en,SECRET',
    'x,SUCCESS,spam',
    `${good},more`,
    `x,SUCCESS,spam,,,en,${REF.slice(0, -1)}`,
    `x,SUCCESS,spam,,,en,${referenceOf(ITEM, { rowKey: 'b3RoZXI' })}`,
  ];
  const { rows, error } = await collectRows(kindWithFile([HEADER, good, ...bad, good].join('\n')));
  assert.equal(error, undefined);
  assert.deepEqual(shown(rows), [
    [3, 41, 'success'],
    'the reference is empty',
    'the reference was not written by this connector',
    'the row has 3 cells, but the header has 7',
    'the row has 8 cells, but the header has 7',
    'the reference is not the one that was uploaded',
    'the reference is not the one that was uploaded',
    [3, 41, 'success'],
  ]);
});

test('an unknown status counts as success if there is a result, and is published and reported once', async () => {
  const notices: ResultNotice[] = [];
  const rows = [
    `x,PARTIAL,spam,,,en,${REF}`,
    `x,PARTIAL,,,,en,${REF}`,
    `x,PARTIAL,spam,,,en,${REF}`,
  ];
  const kind = kindWithFile([HEADER, ...rows].join('\n'), {
    onNotice: (notice) => notices.push(notice),
  });
  const values = (await decisions(kind)).map(decisionOf);
  assert.deepEqual(
    values.map((value) => [value.status, value.service_status]),
    [
      ['SUCCESS', 'PARTIAL'],
      ['ERROR', 'PARTIAL'],
      ['SUCCESS', 'PARTIAL'],
    ],
  );
  assert.deepEqual(notices, [{ kind: 'unknown_status', value: 'PARTIAL' }]);
});

test('a row without a result is malformed if its status is missing or PENDING', async () => {
  const undecided = 'the row has neither a result nor a final status';
  const rows = [`x,,,,,en,${REF}`, `x, pending ,,,,en,${REF}`, `x,,spam,,,en,${REF}`];
  assert.deepEqual(shown((await collectRows(kindWithFile([HEADER, ...rows].join('\n')))).rows), [
    undecided,
    undecided,
    [3, 41, 'success'],
  ]);
  const withoutStatus = [
    'Content,Acme result,lang,connector_ref',
    `x,,en,${REF}`,
    `x,spam,en,${REF}`,
  ];
  assert.deepEqual(shown((await collectRows(kindWithFile(withoutStatus.join('\n')))).rows), [
    undecided,
    [3, 41, 'success'],
  ]);
});

test('missing documented columns are reported once, except for a result column with a configured name', async () => {
  const told = async (
    options: { resultColumn?: string },
    file = `Content,Status,Decision,lang,connector_ref\nx,SUCCESS,spam,en,${REF}\n`,
  ) => {
    const notices: ResultNotice[] = [];
    const kind = kindWithFile(file, { ...options, onNotice: (notice) => notices.push(notice) });
    const results: unknown[] = [];
    for (let round = 0; round < 2; round++)
      results.push(decisionOf((await decisions(kind))[0]).result);
    return { notices, results };
  };
  assert.deepEqual(await told({}), {
    notices: [
      { kind: 'missing_result_column', value: '' },
      { kind: 'missing_column', value: 'Labels' },
    ],
    results: [null, null],
  });
  assert.deepEqual(await told({ resultColumn: 'Decision' }), {
    notices: [{ kind: 'missing_column', value: 'Labels' }],
    results: ['spam', 'spam'],
  });
  assert.deepEqual(
    await told({}, `Content,Service result,Labels,lang,connector_ref\nx,spam,,en,${REF}\n`),
    {
      notices: [{ kind: 'missing_column', value: 'Status' }],
      results: ['spam', 'spam'],
    },
  );
});

test('the first of several result columns is used unless one is configured', async () => {
  const file = `Human result,${HEADER}\nham,x,SUCCESS,spam,,,en,${REF}\n`;
  const resultOf = async (options: { resultColumn?: string }) => {
    const [record] = await decisions(kindWithFile(file, options));
    return decisionOf(record).result;
  };
  assert.equal(await resultOf({}), 'ham');
  assert.equal(await resultOf({ resultColumn: 'service Result' }), 'spam');
  const { error } = await collectRows(kindWithFile(file, { resultColumn: 'Other result' }));
  assert.ok(error instanceof ServiceError && /"Other result"/.test(error.message));
});

test('a file without a usable header fails with a protocol error that names the missing column', async () => {
  assert.match((await protocolError('')).message, /empty/);
  assert.match(
    (await protocolError('Content,Status,Service result\nSECRET,SUCCESS,x\n')).message,
    /connector_ref/,
  );
  assert.match((await protocolError('Content,connector_ref\nSECRET,x\n')).message, /Status/);
});

test('the error for a file that is not CSV names its likely formats', async () => {
  for (const file of [
    '<?xml version="1.0"?><Error>SECRET</Error>',
    '<!doctype html>\n<p>SECRET, they say</p>\n',
    '{"error":"SECRET"}',
    '[{"Content":"SECRET"}]\n',
  ]) {
    const { rows, message } = await protocolError(file);
    assert.deepEqual(rows, []);
    assert.match(message, /is not CSV, but HTML, XML or JSON/);
  }
});

test('a row is malformed if a cell that the reader uses is not UTF-8', async () => {
  const row = `x,SUCCESS,größer,ham,"größe",en,${REF}\n`;
  const read = async (file: Buffer) => {
    const { rows } = await collectRows(kindWithFile(file));
    return shown(rows);
  };
  const latin1 = (text: string) => Buffer.from(`${HEADER}\n${text}`, 'latin1');
  const malformed = ['a cell of the row is not UTF-8 (possibly Latin-1)'];
  assert.deepEqual(await read(latin1(row)), malformed);
  assert.deepEqual(await read(latin1(row.replace('größer', 'x'))), malformed);
  assert.deepEqual(await read(latin1(row.replace('größe"', 'x"'))), malformed);
  assert.deepEqual(await read(latin1(`x,fäilure,y,ham,,en,${REF}\n`)), malformed);
  assert.deepEqual(await read(latin1(`ß,SUCCESS,y,häm,,Ö,${REF}\n`)), [[3, 41, 'success']]);
  // U+FFFD itself is valid UTF-8.
  const replaced = Buffer.from(`${HEADER}\nx,SUCCESS,\ufffd,ham,\ufffd,en,${REF}\n`);
  assert.deepEqual(await read(replaced), [[3, 41, 'success']]);
});

test('a file that ends inside a quote yields the rows before the quote, then a protocol error', async () => {
  const file = `${HEADER}\nx,SUCCESS,spam,,,en,${REF}\n"SECRET that goes on, SUCCESS`;
  const { rows, message } = await protocolError(file);
  assert.deepEqual(shown(rows), [[3, 41, 'success']]);
  assert.match(message, /truncated/);
});

test('a file truncated at any position never yields an incomplete row', async () => {
  for (const whole of [
    `${HEADER}\r\n"x,1",SUCCESS,spam,ham,"[""a""]",en,${REF}\r\n`,
    `connector_ref,Labels,lang,Status,Content,Service result\n${REF},"[""a""]",en,SUCCESS,"x ""1""",spam\n`,
    `connector_ref,Labels,lang,Status,Service result,Content\n${REF},"[""a""]",en,SUCCESS,spam,"x ""1"" y"\n`,
  ]) {
    for (let length = 0; length < whole.trimEnd().length; length++) {
      const { rows, error } = await collectRows(kindWithFile(whole.slice(0, length)));
      const named = rows.filter((row) => !('malformed' in row));
      assert.deepEqual(named, [], `cut after ${length}`);
      if (error !== undefined)
        assert.ok(error instanceof ServiceError && error.failure === 'protocol');
    }
  }
});

test('a last row without a line end is withheld if it may be truncated, and accepted from the third equal file', async () => {
  const header = 'connector_ref,lang,Labels,Expected result,Content,Status,Acme result';
  const first = `${REF},en,,,x,SUCCESS,spam`;
  const last = `${referenceOf({ offset: 42 })},en,,,x,SUCCESS,spam`;
  let text = '';
  const kind = kindWithFile(async function* () {
    yield Buffer.from(text);
  });
  const unended = new UnendedRows();
  const read = async (cut: number) => {
    text = `${header}\n${first}\n${last.slice(0, last.length - cut)}`;
    const { rows, error } = await collectRows(kind, undefined, JOB, unended);
    if (error === undefined) return shown(rows);
    assert.ok(error instanceof ServiceError && error.failure === 'protocol');
    assert.match(error.message, /truncated/);
    assert.deepEqual(shown(rows), [[3, 41, 'success']]);
    return 'withheld';
  };
  for (const cut of [0, 0, 2, 2, 0, 0]) assert.equal(await read(cut), 'withheld', `${cut}`);
  assert.deepEqual(await read(0), [
    [3, 41, 'success'],
    [3, 42, 'success'],
  ]);
});

test('a last row without a line end is not accepted while the service counts more rows', async () => {
  const text = `connector_ref,lang,Labels,Expected result,Content,Status,Acme result\n${REF},en,,,x,SUCCESS,approv`;
  const kind = kindWithFile(text);
  const unended = await unendedTwice(kind);
  const { rows, error } = await collectRows(kind, 2, JOB, unended);
  assert.deepEqual(rows, []);
  assert.ok(error instanceof ServiceError && error.failure === 'protocol');
  assert.deepEqual(shown((await collectRows(kind, 1, JOB, unended)).rows), [[3, 41, 'success']]);
});

test('a last row without a line end is not accepted once another complete file has ended with a line end', async () => {
  const cut = `connector_ref,lang,Labels,Expected result,Content,Status,Acme result\n${REF},en,,,x,SUCCESS,approv`;
  let text = `${cut}ed\n`;
  const kind = kindWithFile(async function* () {
    yield Buffer.from(text);
  });
  // These downloads do not prove how files end: the first is truncated after a line, the second has no row count.
  await collectRows(kind, 2);
  await collectRows(kind);
  text = cut;
  const unended = await unendedTwice(kind);
  assert.equal((await collectRows(kind, 1, JOB, unended)).rows.length, 1);
  text = `${cut}ed\n`;
  assert.equal((await collectRows(kind, 1)).rows.length, 1);
  text = cut;
  const { rows, error } = await collectRows(kind, 1, JOB, unended);
  assert.deepEqual(rows, []);
  assert.ok(error instanceof ServiceError && error.failure === 'protocol');
});

test('a last row without a line end is accepted at once if its last cell is complete JSON', async () => {
  const header = 'connector_ref,Status,Service result,Labels';
  const [record] = await decisions(kindWithFile(`${header}\n${REF},SUCCESS,spam,[]`));
  assert.equal(decisionOf(record).result, 'spam');
});

test('a row that is too large for the upload ends the file', async () => {
  const { source, asked } = large(`${HEADER}\nx,SUCCESS,spam,,,en,${REF}\n"`, 'SECRET');
  const kind = reviewKind({ topic: 'events' }, scriptedService({ download: () => source }));
  const { rows, error } = await collectRows(kind, undefined, { ...JOB, uploadedBytes: 4096 });
  assert.deepEqual(shown(rows), [[3, 41, 'success']]);
  assert.ok(
    error instanceof ServiceError && /larger/.test(error.message) && !/SECRET/.test(error.message),
  );
  assert.ok(asked.bytes < 3 * 1024 * 1024, `${asked.bytes} bytes were read`);
});

test('a file with far more rows than were uploaded is refused', async () => {
  const flood = kindWithFile(`${HEADER}\n${'x\n'.repeat(5_000)}`);
  const { rows, error } = await collectRows(flood, undefined, { ...JOB, uploadedBytes: 3_200 });
  assert.match(String(error), /far more rows than were uploaded/);
  assert.equal(rows.length, 1_099);
});

/** Returns a file of 90 MiB and the number of bytes read from it. */
function large(beginning: string, filler: string) {
  const piece = Buffer.alloc(64 * 1024, filler);
  const asked = { bytes: 0 };
  const source = (async function* () {
    yield Buffer.from(beginning);
    for (; asked.bytes < 90 * 1024 * 1024; asked.bytes += piece.length) yield piece;
    yield Buffer.from('\n');
  })();
  return { source, asked };
}

test('a header or row with too many columns ends the file early, and the rows before it are kept', async () => {
  for (const [beginning, kept] of [
    ['', 0],
    [`${HEADER}\nx,SUCCESS,spam,,,en,${REF}\n`, 1],
  ] as const) {
    const { source, asked } = large(beginning, ',');
    const { rows, error } = await collectRows(
      reviewKind({ topic: 'events' }, scriptedService({ download: () => source })),
    );
    assert.ok(error instanceof ServiceError && error.failure === 'protocol', String(error));
    assert.match(error.message, /more than 16384 columns/);
    assert.equal(rows.length, kept);
    assert.ok(asked.bytes < 1024 * 1024, `${asked.bytes} bytes were read`);
  }
});
