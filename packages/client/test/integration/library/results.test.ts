import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import test from 'node:test';
import { NoResultsError, type ReviewedRow, ServiceError } from '../../../src/index.ts';
import { json, type Seen } from '../service/servers.ts';
import { all, scripted } from './scripted.ts';

const HEADER = 'Content,Status,Acme result,Expected result,Labels,author,__proto__\r\n';
const row = (index: number) =>
  `text ${index},SUCCESS,keep,,"[{""name"":""spam"",""applied"":false,""explanation"":""no""}]",a${index},p\r\n`;

interface Files {
  /** Text of each download, in order; the last repeats. `cutAt` breaks the connection there. */
  readonly downloads: readonly { readonly text: string | Buffer; readonly cutAt?: number }[];
  readonly batch?: object;
}

/** Serves a batch and its downloads. */
function serving({ downloads, batch = {} }: Files) {
  let begun = 0;
  return (response: ServerResponse, request: Seen) => {
    if (!request.url.startsWith('/file')) {
      const download_url = `http://${request.headers.host}/file?sig=1`;
      return json(response, 200, {
        batch_id: 'b-1',
        batch_status: 'SUCCESS',
        download_url,
        ...batch,
      });
    }
    const { text, cutAt } = downloads[Math.min(begun++, downloads.length - 1)] ?? { text: '' };
    response.writeHead(200, { 'content-length': Buffer.byteLength(text) });
    if (cutAt === undefined) response.end(text);
    else
      response.write(Buffer.from(text).subarray(0, cutAt), () =>
        setTimeout(() => response.destroy(), 20),
      );
  };
}

test('rows are typed, with labels read and other columns as metadata', async (t) => {
  const text = `${HEADER}"a ""b""",success,remove,keep,spam;scam,x,y\r\n,ERROR,,,,,\r\nc,ODD,,,,,\r\n`;
  const { client } = await scripted(t, serving({ downloads: [{ text }] }));
  const rows = await all(client.results('b-1'));
  assert.deepEqual(rows[0], {
    row: 1,
    content: 'a "b"',
    status: 'SUCCESS',
    result: 'remove',
    expectedResult: 'keep',
    labels: [
      { name: 'spam', applied: true, explanation: null },
      { name: 'scam', applied: true, explanation: null },
    ],
    labelsJson:
      '[{"name":"spam","applied":true,"explanation":null},{"name":"scam","applied":true,"explanation":null}]',
    labelsText: 'spam;scam',
    metadata: Object.fromEntries([
      ['author', 'x'],
      ['__proto__', 'y'],
    ]),
  } satisfies ReviewedRow);
  assert.deepEqual(
    rows.map(({ row: number, content, status, result, labels }) => [
      number,
      content,
      status,
      result,
      labels.length,
    ]),
    [
      [1, 'a "b"', 'SUCCESS', 'remove', 2],
      [2, '', 'ERROR', null, 0],
      [3, 'c', 'ODD', null, 0],
    ],
  );
});

test("columns after the service's with one of their names are metadata", async (t) => {
  const text =
    'Content,Status,Acme result,Expected result,Labels,Lab result,Status,Labels\na,error,keep,,spam,positive,mystatus,mylabel\n';
  const { client } = await scripted(t, serving({ downloads: [{ text }] }));
  const [row] = await all(client.results('b-1'));
  assert.deepEqual([row?.status, row?.result, row?.labelsText], ['ERROR', 'keep', 'spam']);
  assert.deepEqual(row?.metadata, {
    'Lab result': 'positive',
    Status: 'mystatus',
    Labels: 'mylabel',
  });
  const [other] = await all(client.results('b-1', { resultColumn: 'Lab result' }));
  assert.equal(other?.result, 'positive');
});

test('a download that breaks off is an error after its whole rows', async (t) => {
  const text = HEADER + Array.from({ length: 20_000 }, (_, index) => row(index)).join('');
  const { client } = await scripted(t, serving({ downloads: [{ text, cutAt: 900_000 }] }));
  let rows = 0;
  const reading = (async () => {
    for await (const each of client.results('b-1')) assert.equal(each.row, ++rows);
  })();
  await assert.rejects(reading, { failure: 'protocol', message: /was cut: .*download it again/ });
  assert.ok(rows > 1_000 && rows < 20_000, `${rows} rows`);
});

test('the bytes of a file can be kept while its rows are read', async (t) => {
  const text = HEADER + Array.from({ length: 20_000 }, (_, index) => row(index)).join('');
  const { client } = await scripted(t, serving({ downloads: [{ text }] }));
  const chunks: Uint8Array[] = [];
  const onChunk = async (chunk: Uint8Array) => void chunks.push(Buffer.from(chunk));
  assert.equal((await all(client.results('b-1', { onChunk }))).length, 20_000);
  assert.equal(Buffer.concat(chunks).toString(), text);
});

test('a file that ends within a row is an error, also where ragged rows are left out', async (t) => {
  const text = `${HEADER + row(0)}text 1,SUCC`;
  const { client } = await scripted(t, serving({ downloads: [{ text }] }));
  const ragged: object[] = [];
  const options = { onMalformedRow: (each: object) => ragged.push(each) };
  await assert.rejects(all(client.results('b-1', options)), /ends within a row/);
  assert.deepEqual(ragged, []);
});

test('a file that lacks rows is an error after its whole rows', async (t) => {
  const text = HEADER + row(0) + row(1).slice(0, -3);
  const batch = { success_count: 3, error_count: 0 };
  const { client } = await scripted(t, serving({ downloads: [{ text }], batch }));
  const seen: (string | null)[] = [];
  const reading = (async () => {
    for await (const { content } of client.results('b-1')) seen.push(content);
  })();
  await assert.rejects(reading, /has 1 whole rows, but the service counted 3/);
  assert.deepEqual(seen, ['text 0']);
  // The same end, but nothing is wanting.
  const whole = await scripted(
    t,
    serving({ downloads: [{ text }], batch: { success_count: 2, error_count: 0 } }),
  );
  assert.equal((await all(whole.client.results('b-1'))).length, 2);
});

test('a ragged row is an error, or is reported and left out', async (t) => {
  const text = `${HEADER + row(0)}only,two\r\n${row(2)}`;
  const { client } = await scripted(t, serving({ downloads: [{ text }] }));
  await assert.rejects(
    all(client.results('b-1')),
    /row 2 of the result file has 2 cells, its header 7/,
  );
  const told: object[] = [];
  const rows = await all(
    client.results('b-1', { onMalformedRow: (malformed) => told.push(malformed) }),
  );
  assert.deepEqual(
    rows.map((each) => each.row),
    [1, 3],
  );
  assert.deepEqual(told, [{ row: 2, cells: 2, expectedCells: 7 }]);
});

test('invalid files are protocol errors that do not quote them', async (t) => {
  for (const [text, message] of [
    ['', /is empty/],
    ['hunter22,b\r\n1,2\r\n', /neither a column "Status"/],
    [`${HEADER}"hunter22,`, /ends inside a quoted cell/],
    [Buffer.from(`${HEADER}hunter22\xe9,,,,,,\n`, 'latin1'), /is not UTF-8/],
  ] as const) {
    const { client } = await scripted(t, serving({ downloads: [{ text }] }));
    await assert.rejects(all(client.results('b-1')), (error: Error) => {
      return (
        error instanceof ServiceError &&
        error.failure === 'protocol' &&
        message.test(error.message) &&
        !error.message.includes('hunter22')
      );
    });
  }
});

test('the error of a batch without results has its status', async (t) => {
  const batch = { batch_status: 'PENDING', download_url: null };
  const { client } = await scripted(t, serving({ downloads: [], batch }));
  await assert.rejects(all(client.results('b-1')), (error) => {
    return error instanceof NoResultsError && error.batchStatus === 'PENDING';
  });
});
