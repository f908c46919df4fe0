import assert from 'node:assert/strict';
import test from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { clientFor, httpServer, json, KEY, NEVER } from './servers.ts';

const DECISION = {
  decision_id: 'd-1',
  decision_status: 'SUCCESS',
  metadata: { user: 'u-7', nested: { a: [1, null, ''] }, __proto__x: 1 },
  result: 'remove',
  labels: [{ name: 'spam', applied: true, explanation: 'a link farm' }],
};

test('retrieving a decision returns status, metadata, result and labels (4.5)', async (t) => {
  const server = await httpServer(t, (response) => json(response, 200, DECISION));
  const { client, observer } = clientFor(t, server.url);
  assert.deepEqual(await client.getDecision('d-1', NEVER), {
    decisionId: 'd-1',
    status: 'SUCCESS',
    rawStatus: 'SUCCESS',
    metadataJson: JSON.stringify(DECISION.metadata),
    result: 'remove',
    labelsJson: JSON.stringify(DECISION.labels),
  });
  const [request] = server.seen;
  assert.equal(`${request?.method} ${request?.url}`, 'GET /v1/decisions/d-1');
  assert.equal(request?.headers.authorization, `Bearer ${KEY}`);
  assert.equal(request?.body.length, 0);
  assert.deepEqual([observer.requests, observer.orphans], [['get_decision 200'], 0]);
});

test('metadata keeps every digit, every key and its order', async (t) => {
  const metadata = '{"z":12345678901234567890,"a":1.50,"__proto__":{"x":-0},"2":1e400,"empty":""}';
  const server = await httpServer(t, (response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"decision_status":"SUCCESS","metadata":${metadata},"result":null,"labels":null}`),
  );
  const { metadataJson } = await clientFor(t, server.url).client.getDecision('d-1', NEVER);
  assert.equal(metadataJson, metadata);
});

test('uncompressed responses are requested, but compressed responses are also read', async (t) => {
  const codings = {
    gzip: gzipSync,
    br: brotliCompressSync,
    deflate: deflateSync,
    zstd: zstdCompressSync,
  };
  for (const [coding, compress] of Object.entries(codings)) {
    const server = await httpServer(t, (response) => {
      const body = compress(JSON.stringify({ ...DECISION, result: 'größer' }));
      response.writeHead(200, { 'content-encoding': coding }).end(body);
    });
    const { client } = clientFor(t, server.url);
    const { result } = await client.getDecision('d-1', NEVER);
    assert.equal(result, 'größer', coding);
    assert.equal(server.seen[0]?.headers['accept-encoding'], 'identity');
  }
  const bomb = await httpServer(t, (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(64_000_000))),
  );
  const read = clientFor(t, bomb.url).client.getDecision('d-1', NEVER);
  await assert.rejects(read, { failure: 'protocol', message: /BODY_TOO_LARGE/ });
});

test('decisions that are pending, sparse or of unknown status are read', async (t) => {
  const bodies = [
    { ...DECISION, decision_status: 'PENDING', metadata: {}, result: null, labels: null },
    { decision_status: 'ON_FIRE' },
    { decision_status: 'error', metadata: null, result: 0.75, team: 1 },
  ];
  const server = await httpServer(t, (response, _, index) => json(response, 200, bodies[index]));
  const { client } = clientFor(t, server.url);
  const sparse = {
    decisionId: 'd-1',
    metadataJson: '{}',
    result: null,
    labelsJson: null,
  };
  assert.deepEqual(await client.getDecision('d-1', NEVER), {
    ...sparse,
    status: 'PENDING',
    rawStatus: 'PENDING',
  });
  assert.deepEqual(await client.getDecision('d-1', NEVER), {
    ...sparse,
    status: undefined,
    rawStatus: 'ON_FIRE',
  });
  const scored = { ...sparse, status: 'ERROR', rawStatus: 'error', result: '0.75' };
  assert.deepEqual(await client.getDecision('d-1', NEVER), scored);
});

test('labels keep unknown fields and may lack an explanation; an entry without a name is not a label', async (t) => {
  const labels = [
    { name: 'a', applied: false, score: 0.3 },
    { name: 'b', applied: 'yes', explanation: 7 },
    'c',
    null,
    4,
    { id: 1 },
  ];
  const server = await httpServer(t, (response) => json(response, 200, { ...DECISION, labels }));
  const { labelsJson } = await clientFor(t, server.url).client.getDecision('d-1', NEVER);
  assert.deepEqual(JSON.parse(labelsJson ?? ''), [
    { name: 'a', applied: false, explanation: null, score: 0.3 },
    { name: 'b', applied: true, explanation: null },
    { name: 'c', applied: true, explanation: null },
  ]);
});

test('a decision without a status, with metadata that is not an object, or with another id is a protocol error', async (t) => {
  const bodies = [
    { ...DECISION, decision_status: undefined },
    { ...DECISION, metadata: [1] },
    { ...DECISION, decision_id: 'd-2' },
  ];
  const server = await httpServer(t, (response, _, index) => json(response, 200, bodies[index]));
  const { client } = clientFor(t, server.url);
  for (const _ of bodies)
    await assert.rejects(client.getDecision('d-1', NEVER), { failure: 'protocol' });
});
