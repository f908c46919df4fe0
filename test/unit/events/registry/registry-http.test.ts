import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ConfluentRegistry,
  RegistryRefused,
  RegistryUnavailable,
} from '../../../../src/events/registry/index.ts';
import {
  fakeRegistry,
  recordingObserver,
  registrySettings,
} from '../../../support/stack/registry.ts';

const { signal } = new AbortController();
const TEXT = { schema: '"string"' };

/** Returns an address of a closed server, which refuses connections. */
async function nobodyThere(): Promise<string> {
  const server = await fakeRegistry();
  await server[Symbol.asyncDispose]();
  return server.url;
}

async function unavailable(call: Promise<unknown>): Promise<RegistryUnavailable> {
  const error = await call.then(
    () => assert.fail('it answered'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof RegistryUnavailable, String(error));
  return error;
}

test('5xx, 429, 408 and rejected credentials count as unavailable, and other 4xx as a rejection', async () => {
  await using server = await fakeRegistry();
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const answer = (status: number, body: string) => {
    server.instead = (_, response) => {
      response.statusCode = status;
      response.end(body);
    };
  };
  for (const status of [500, 503, 429, 408]) {
    answer(status, '{"error_code":50001,"message":"secret"}');
    assert.equal(
      (await unavailable(registry.byId(1, signal))).message,
      `the registry responded with ${status}`,
    );
  }
  for (const status of [401, 403]) {
    answer(status, '{"error_code":40101,"message":"secret"}');
    assert.match(
      (await unavailable(registry.byId(1, signal))).message,
      /the credentials of schemaRegistry are wrong/,
    );
  }
  answer(422, '{"error_code":42201,"message":"Invalid schema"}');
  await assert.rejects(
    registry.register('s', { type: 'AVRO', text: 'x' }, signal),
    (error) =>
      error instanceof RegistryRefused && error.status === 422 && error.errorCode === 42201,
  );
  await registry.close();
});

test('a 404 without an error code of the registry does not mean an unknown schema, because the path may be wrong', async () => {
  await using server = await fakeRegistry();
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const bodies = [
    '<html>not found</html>',
    '{"error_code":404,"message":"HTTP 404 Not Found"}',
    '{}',
    '',
  ];
  for (const body of bodies) {
    server.instead = (_, response) => response.writeHead(404).end(body);
    const { code, message } = await unavailable(registry.byId(1, signal));
    assert.equal(code, 'bad_answer');
    assert.match(message, /does schemaRegistry\.urls end with the path/);
  }
  server.instead = (_, response) => response.writeHead(200).end('<html>welcome</html>');
  assert.equal((await unavailable(registry.byId(1, signal))).code, 'bad_answer');
  server.instead = undefined;
  assert.equal(await registry.byId(1, signal), undefined);
  await registry.close();
});

test('addresses are tried in order, starting with the last one that responded', async () => {
  await using server = await fakeRegistry({ '/schemas/ids/1': TEXT });
  const observer = recordingObserver();
  const registry = new ConfluentRegistry(
    registrySettings([await nobodyThere(), `${server.url}/`], { observer }),
  );
  assert.equal((await registry.byId(1, signal))?.text, '"string"');
  assert.equal((await registry.byId(1, signal))?.text, '"string"');
  assert.deepEqual(observer.calls, ['schema network', 'schema 200', 'schema 200']);
  await registry.close();
});

test('an id that one address does not know is not looked up at another address', async () => {
  await using one = await fakeRegistry();
  await using other = await fakeRegistry({ '/schemas/ids/1': TEXT });
  const registry = new ConfluentRegistry(
    registrySettings([await nobodyThere(), one.url, other.url]),
  );
  assert.equal(await registry.byId(1, signal), undefined);
  assert.deepEqual([one.requests.length, other.requests.length], [1, 0]);
  await registry.close();
});

test('compatibility returns the verdict of the registry on the latest version, with its reasons', async () => {
  const path = '/compatibility/subjects/s/versions/latest';
  await using server = await fakeRegistry();
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  for (const [answer, compatible, messages] of [
    [{ is_compatible: true }, true, []],
    [{ is_compatible: false, messages: ['b is missing'] }, false, ['b is missing']],
    [{ is_compatible: false, reason: 'b is missing' }, false, ['b is missing']],
  ] as const) {
    server.answers[path] = answer;
    const found = await registry.compatibility('s', { type: 'AVRO', text: '"string"' }, signal);
    assert.deepEqual(found, { compatible, messages });
  }
  await registry.close();
});

test('a request to a slow registry times out, and an aborted caller returns at once', async () => {
  await using server = await fakeRegistry();
  server.instead = () => {};
  const hasty = new ConfluentRegistry(registrySettings([server.url], { timeoutMs: 50 }));
  assert.equal(
    (await unavailable(hasty.byId(1, signal))).message,
    'the registry did not respond within 50 ms',
  );
  const patient = new ConfluentRegistry(registrySettings([server.url], { timeoutMs: 60_000 }));
  const controller = new AbortController();
  const asked = Promise.withResolvers<void>();
  server.instead = () => asked.resolve();
  const pending = patient.byId(1, controller.signal);
  await asked.promise;
  controller.abort(new Error('enough'));
  await assert.rejects(pending, /enough/);
  await Promise.all([hasty.close(), patient.close()]);
});

test('credentials are read for each request, and no message contains them', async () => {
  await using server = await fakeRegistry({ '/schemas/ids/1': TEXT });
  let password = 'old';
  const basic = { kind: 'basic', user: 'ann', password: async () => password } as const;
  const registry = new ConfluentRegistry(registrySettings([server.url], { credentials: basic }));
  await registry.byId(1, signal);
  password = 'new';
  await registry.byId(1, signal);
  const bearer = { kind: 'bearer', token: async () => 'token' } as const;
  const other = new ConfluentRegistry(registrySettings([server.url], { credentials: bearer }));
  await other.byId(1, signal);
  assert.deepEqual(
    server.headers.map(({ authorization }) => authorization),
    [`Basic ${btoa('ann:old')}`, `Basic ${btoa('ann:new')}`, 'Bearer token'],
  );
  const broken = { kind: 'bearer', token: async () => 'line\nbreak' } as const;
  const refused = new ConfluentRegistry(registrySettings([server.url], { credentials: broken }));
  assert.doesNotMatch((await unavailable(refused.byId(1, signal))).message, /line|break/);
  await Promise.all([registry.close(), other.close(), refused.close()]);
});

test('each referenced schema is collected once, before the schemas that refer to it, even in a cycle', async () => {
  const reference = (name: string) => ({ name, subject: `${name}-value`, version: 1 });
  const version = (id: number, name: string, ...names: string[]) => ({
    id,
    version: 1,
    subject: `${name}-value`,
    schemaType: 'PROTOBUF',
    schema: name,
    references: names.map(reference),
  });
  await using server = await fakeRegistry({
    '/schemas/ids/1': {
      schemaType: 'PROTOBUF',
      schema: 'top',
      references: ['a', 'b'].map(reference),
    },
    '/subjects/a-value/versions/1': version(2, 'a', 'c'),
    '/subjects/b-value/versions/1': version(3, 'b', 'c', 'a'),
    '/subjects/c-value/versions/1': version(4, 'c', 'a'),
  });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const found = await registry.byId(1, signal);
  assert.deepEqual(
    found?.imports.map(({ name, text }) => [name, text]),
    [
      ['c', 'c'],
      ['a', 'a'],
      ['b', 'b'],
    ],
  );
  delete server.answers['/subjects/c-value/versions/1'];
  await assert.rejects(
    registry.byId(1, signal),
    /it refers to version 1 of subject c-value, which the registry does not have/,
  );
  await registry.close();
});
