/** I6: no response can put content, API keys or the queries of presigned addresses into an error. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { allOf, assertSilent } from '../../../../../test/support/stack/canary.ts';
import type { ContentReviewClient } from '../../../src/client.ts';
import { clientFor, collect, NEVER, rawServer } from './servers.ts';

const secretText = fc.stringMatching(/^[\x21-\x7e]{16,60}$/);
const secrets = fc.record({ key: secretText, query: secretText, content: secretText });

/** Response of a hostile server, made from all bytes that it received. undefined resets the connection. */
type Answer = (received: string) => string | undefined;

function http(status: string, headers: string, body: string): string {
  return `HTTP/1.1 ${status}\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const oneLine = (text: string) => text.replace(/[\r\n]+/g, ' ');
const xml = (received: string) =>
  `<Error><Code>AccessDenied</Code><Message>${received}</Message><StringToSign>${received}</StringToSign></Error>`;

const answers: Record<string, Answer> = {
  'JSON that repeats the request': (received) =>
    http('400 Bad', 'content-type: application/json\r\n', JSON.stringify({ message: received })),
  'JSON that repeats the authorization': (received) => {
    const message = `bad key ${/authorization: Bearer (.*)/i.exec(received)?.[1]} given`;
    return http(
      '401 No',
      'content-type: application/json\r\n',
      JSON.stringify({ error: { message, code: message } }),
    );
  },
  'text that repeats the request': (received) =>
    http('422 Bad', 'content-type: text/plain\r\n', received),
  'XML that repeats the request': (received) =>
    http('403 No', 'content-type: application/xml\r\n', xml(received)),
  'XML whose code is the query': (received) =>
    http(
      '403 No',
      '',
      `<Error><Code>${decodeURIComponent(/X-Amz-Signature=(\S*)/.exec(received)?.[1] ?? '')}</Code></Error>`,
    ),
  'a busy answer that repeats the request': (received) =>
    http('503 Busy', `retry-after: ${oneLine(received)}\r\n`, received),
  'a success that is not JSON': (received) =>
    http('200 OK', 'content-encoding: gzip\r\n', received),
  'a success that lacks everything': (received) =>
    http('200 OK', '', JSON.stringify({ echo: received, batch_id: '' })),
  'a status line that repeats the request': (received) => http(`400 ${oneLine(received)}`, '', ''),
  'something that is not HTTP': (received) => received,
  'a broken chunk': (received) =>
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${received}`,
  'a redirect to nowhere': (received) =>
    http('307 Go', `location: http://[${oneLine(received)}\r\n`, ''),
  'a redirect to a dead place': (received) => {
    const target = /^\S+ (\S+)/.exec(received)?.[1];
    return http('307 Go', `location: http://127.0.0.1:1${target}\r\n`, '');
  },
  'a reset': () => undefined,
};

function isWhole(received: string): boolean {
  const end = received.indexOf('\r\n\r\n');
  const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
  return end >= 0 && received.length >= end + 4 + length;
}

async function errorsOf(
  client: ContentReviewClient,
  presigned: string,
  content: string,
): Promise<unknown[]> {
  const csv = { contentType: 'text/csv', ...NEVER };
  const results = await Promise.allSettled([
    client.createBatch('email', NEVER),
    client.getBatch('b-1', NEVER),
    client.upload(presigned, Buffer.from(content), csv),
    collect(client.download(presigned, NEVER)),
  ]);
  return results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
}

test('whatever the response is, no part of a key, a query or the content appears in any error', async (t) => {
  let answer: Answer = () => undefined;
  const server = await rawServer(t, (socket, received) => {
    if (!isWhole(received)) return;
    const bytes = answer(received);
    if (bytes === undefined) socket.resetAndDestroy();
    else socket.end(bytes);
  });
  const failed = new Set<string>();
  await fc.assert(
    fc.asyncProperty(secrets, async (secret) => {
      const { client } = clientFor(t, server.url, {
        apiKey: async () => secret.key,
        retry: { maxRetries: 1 },
      });
      for (const [name, next] of Object.entries(answers)) {
        answer = next;
        const presigned = `${server.url}/file?X-Amz-Signature=${encodeURIComponent(secret.query)}`;
        for (const error of await errorsOf(client, presigned, secret.content)) {
          failed.add(name);
          assert.ok(error instanceof Error);
          assertSilent(allOf(error), name, Object.values(secret));
        }
      }
      await client.close();
    }),
    { numRuns: 20 },
  );
  assert.deepEqual(
    [...failed].sort(),
    Object.keys(answers).sort(),
    'every response caused a failure',
  );
});
