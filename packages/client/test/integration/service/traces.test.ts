/** Spans of requests, and the trace context in calls to baseUrl (docs/tracing.md). */
import assert from 'node:assert/strict';
import test from 'node:test';
import { RecordingTracer } from '../../../../../test/support/memory/telemetry/recording-tracer.ts';
import { NO_SPAN, traceHeadersOf, within } from '../../../src/base/tracing.ts';
import { clientFor, httpServer, json, NEVER } from './servers.ts';

const CREATED = {
  batch_id: 'b1',
  batch_status: 'WAITING_FOR_UPLOAD',
  type: 'post',
  upload_url: 'https://storage.example/up?X-Amz-Signature=s',
  download_url: null,
};
const CSV = { contentType: 'text/csv', ...NEVER };
const port = (url: string) => Number(new URL(url).port);

/** Returns a step inside a batch, and its spans so far. */
function step() {
  const tracer = new RecordingTracer();
  const span = tracer.startBatch('process events', {}, []).step('create');
  const shown = () =>
    span.steps.map(({ name, kind, attributes, ended }) => [name, kind, attributes, ended]);
  return { span, tracer, shown };
}

test('each attempt of a call is a client span by the conventions, and the service receives its context', async (t) => {
  const api = await httpServer(t, (response, _, index) =>
    index === 0 ? json(response, 503, {}) : json(response, 200, CREATED),
  );
  const { client } = clientFor(t, `${api.url}/base`);
  const { span, shown } = step();
  await within(span, () => client.createBatch('post', NEVER));
  const common = {
    'http.request.method': 'POST',
    'url.full': `${api.url}/base/v1/batches`,
    'url.template': '/v1/batches',
    'server.address': '127.0.0.1',
    'server.port': port(api.url),
  };
  assert.deepEqual(shown(), [
    ['POST /v1/batches', 'client', { ...common, 'http.response.status_code': 503 }, '503'],
    [
      'POST /v1/batches',
      'client',
      { ...common, 'http.request.resend_count': 1, 'http.response.status_code': 200 },
      'ok',
    ],
  ]);
  assert.deepEqual(
    api.seen.map(({ headers }) => headers.traceparent),
    span.steps.map(({ ids }) => traceHeadersOf(ids).traceparent),
  );
  assert.equal(span.steps[1]?.ids.traceId, span.ids.traceId);
});

test('a storage receives no context, even after a redirect; its spans have neither query nor template', async (t) => {
  const target = await httpServer(t, (response) => response.end());
  const storage = await httpServer(t, (response) =>
    response.writeHead(307, { location: `${target.url}/moved?X-Amz-Signature=secret` }).end(),
  );
  const { client } = clientFor(t, storage.url);
  const { span, tracer, shown } = step();
  const address = `${storage.url}/uploads/b1.csv?X-Amz-Signature=secret`;
  await within(span, () => client.upload(address, Buffer.from('Content\r\n'), CSV));
  const common = { 'http.request.method': 'PUT', 'server.address': '127.0.0.1' };
  assert.deepEqual(shown(), [
    [
      'PUT',
      'client',
      {
        ...common,
        'url.full': `${storage.url}/uploads/b1.csv`,
        'server.port': port(storage.url),
        'http.response.status_code': 307,
      },
      'ok',
    ],
    [
      'PUT',
      'client',
      {
        ...common,
        'url.full': `${target.url}/moved`,
        'server.port': port(target.url),
        'http.request.resend_count': 1,
        'http.response.status_code': 200,
      },
      'ok',
    ],
  ]);
  for (const { headers } of [...storage.seen, ...target.seen])
    assert.deepEqual([headers.traceparent, headers.tracestate], [undefined, undefined]);
  assert.doesNotMatch(tracer.text(), /secret|X-Amz/);
});

test('no context is sent outside of a step or without a recorded span', async (t) => {
  const api = await httpServer(t, (response) => json(response, 200, CREATED));
  const { client } = clientFor(t, api.url);
  await client.createBatch('post', NEVER);
  await within(NO_SPAN, () => client.createBatch('post', NEVER));
  assert.deepEqual(
    api.seen.map(({ headers }) => headers.traceparent),
    [undefined, undefined],
  );
});
