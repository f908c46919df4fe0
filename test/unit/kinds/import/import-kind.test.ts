import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writtenText } from '../../../../packages/client/src/base/json/json-text.ts';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import type { ItemRow } from '../../../../src/core/bytes/result-slice.ts';
import type { RemoteStatus } from '../../../../src/core/ports/pipeline-kind.ts';
import type { ContentItem, SourceRecord } from '../../../../src/core/record.ts';
import { type ImportOptions, importKind } from '../../../../src/kinds/import/index.ts';
import type { ImportService } from '../../../../src/kinds/service-ports.ts';
import { assertContract } from '../../../support/contracts.ts';
import { headerList } from '../../../support/records/headers.ts';
import { unpooledBody } from '../../../support/review/unpooled-body.ts';
import { JOB, SIGNAL, sourceRecord } from '../review/sample.ts';

const COMPLETE: RemoteStatus = { state: 'finished', rawState: 'COMPLETE' };

function kindOf(over: Partial<ImportOptions> = {}, service: Partial<ImportService> = {}) {
  const unscripted = (): never => assert.fail('the test did not script this call');
  return importKind(
    {
      topic: 'records',
      type: { field: 'type' },
      data: 'data',
      headers: [],
      nullValues: 'dead-letter',
      maxLineBytes: 1_000,
      ...over,
    },
    { createImport: unscripted, getImport: unscripted, upload: unscripted, ...service },
  );
}

function decoded(value: unknown, over: Partial<ImportOptions> = {}, again?: { type: string }) {
  const result = kindOf(over).decode(sourceRecord(value), 0, again);
  return 'poison' in result
    ? result.poison.reason
    : 'skip' in result
      ? result.skip
      : `{"type":${writtenText(result.item.content)},"data":${writtenText(result.item.metadata)}}`;
}

function itemOf(record: SourceRecord, over: Partial<ImportOptions> = {}): ContentItem {
  const result = kindOf(over).decode(record, 2);
  return 'item' in result ? result.item : assert.fail(JSON.stringify(result));
}

test('an event becomes a line with only its type and data, whatever else it contains', () => {
  assert.equal(
    decoded({ more: 1, data: { a: [1] }, type: 'user' }),
    '{"type":"user","data":{"a":[1]}}',
  );
  const mapped = { type: { constant: 'user' }, data: 'payload.row' };
  assert.equal(
    decoded({ payload: { row: { 'a\n': '\r\n' } } }, mapped),
    '{"type":"user","data":{"a\\n":"\\r\\n"}}',
  );
  assert.equal(
    decoded('{"type":"t","data":{"id":12345678901234567890,"x":1e400,"z":-0.0}}'),
    '{"type":"t","data":{"id":12345678901234567890,"x":1e400,"z":-0.0}}',
  );
  assert.equal(
    decoded('{"type":"t","data":{"__proto__":{"a":1}}}'),
    '{"type":"t","data":{"__proto__":{"a":1}}}',
  );
});

test('a value without a string type and a data object becomes a dead letter with the reason', () => {
  const reasons = [
    null,
    'not json',
    Buffer.from([0xff]),
    [1],
    'null',
    { data: {} },
    { type: '', data: {} },
    { type: 3, data: {} },
  ].map((value) => decoded(value));
  assert.deepEqual(reasons, [
    'null_value',
    'not_json',
    'not_json',
    'not_an_object',
    'not_an_object',
    'no_type',
    'no_type',
    'no_type',
  ]);
  for (const data of [undefined, null, [], 'text', 7])
    assert.equal(decoded({ type: 't', data }), 'no_content');
  assert.equal(
    decoded(`{"type":"t","data":${'{"a":'.repeat(80)}1${'}'.repeat(80)}}`),
    'no_content',
  );
  assert.equal(decoded({ type: 't', data: { text: 'ä'.repeat(600) } }), 'too_large');
  assert.equal(decoded({ type: 'u', data: {} }, { allowedTypes: ['t'] }), 'type_not_allowed');
  assert.equal(
    decoded({ type: 'u', data: {} }, { allowedTypes: ['t'] }, { type: 'import' }),
    '{"type":"u","data":{}}',
  );
  assert.equal(decoded(null, { nullValues: 'skip' }), 'null_value');
});

test('an import is created without a body, uploaded as JSON Lines, and polled in all states', async () => {
  const calls: unknown[] = [];
  let made = 0;
  let rawStatus = '';
  const kind = kindOf(
    {},
    {
      createImport: async () => ({
        importId: ['i-1', 'probe'][made++] ?? assert.fail('a third create'),
        uploadUrl: 'https://storage.example/x',
      }),
      upload: async (url, body, { contentType }) => calls.push([url, String(body), contentType]),
      getImport: async (importId) => {
        calls.push(importId);
        if (rawStatus === '404' && importId === 'i-1')
          throw new ServiceError('not_found', 'unknown', { operation: 'get_import', status: 404 });
        return { rawStatus };
      },
    },
  );
  const created = await kind.create('import', SIGNAL);
  assert.deepEqual(created, { remoteId: 'i-1', uploadUrl: 'https://storage.example/x' });
  await kind.upload(created, unpooledBody(Buffer.from('{}\n'), 1), SIGNAL);
  assert.deepEqual(calls, [['https://storage.example/x', '{}\n', 'application/jsonl']]);
  const states: [string, string][] = [
    ['WAITING_FOR_UPLOAD', 'waiting_for_upload'],
    ['in_progress', 'pending'],
    [' COMPLETE ', 'finished'],
    ['FAILED', 'failed'],
    ['RESTING', 'unknown'],
    ['404', 'missing'],
  ];
  for (const [raw, state] of states) {
    rawStatus = raw;
    assert.equal((await kind.status('i-1', SIGNAL)).state, state);
  }
});

test('an import that is not found is missing only if another import is found, because the status path may be wrong', async () => {
  const known = new Set<string>();
  let made = 0;
  const kind = kindOf(
    {},
    {
      createImport: async () => ({
        importId: `new-${++made}`,
        uploadUrl: 'https://storage.example/x',
      }),
      getImport: async (importId) => {
        if (known.has(importId)) return { rawStatus: 'IN_PROGRESS' };
        throw new ServiceError('not_found', `${importId} responded with 404`, {
          operation: 'get_import',
          status: 404,
        });
      },
    },
  );
  const ask = async () => (await kind.status('gone', SIGNAL)).state;
  for (let n = 0; n < 2; n++) {
    await assert.rejects(ask, (error) => {
      assert.ok(
        error instanceof ServiceError && error.failure === 'not_found' && error.status === 404,
      );
      assert.match(error.message, /new-1 responded with 404.*service\.importPath/);
      return true;
    });
  }
  known.add('new-1');
  assert.deepEqual([await ask(), await ask(), made], ['missing', 'missing', 1]);
});

const check = (value: unknown) => assertContract('receipt', value);

test('each record of a complete import gets a receipt, with its key and headers unless it can no longer be read', async () => {
  const kind = kindOf({ headers: ['trace'] });
  const record = sourceRecord(
    { type: 't', data: {} },
    { headers: headerList({ trace: 'abc', other: 'x' }), key: Buffer.from([0xff]) },
  );
  const item = itemOf(record, { headers: ['trace'] });
  const outcomes: ItemRow[] = [];
  for await (const some of kind.outcomes(
    [item, { ...item, outputKey: Buffer.from('other') }, { ...item, key: Buffer.from('größe') }],
    COMPLETE,
    () => JOB,
    SIGNAL,
    false,
  ))
    outcomes.push(...some);
  const without = kind.outcomeOf({ partition: 3, offset: 42, replay: 0 }, COMPLETE, JOB);
  assert.ok(without);
  const records = [...outcomes, without].map((one) =>
    'record' in one ? one.record : assert.fail(one.poison.message),
  );
  const receipts = records.map(({ value }) => JSON.parse(String(value)));
  for (const receipt of receipts) check(receipt);
  assert.deepEqual(receipts[0], {
    id: 'records-3-41#2',
    status: 'SUCCESS',
    import_id: 'batch-1',
    import_status: 'COMPLETE',
    attempt: 1,
    error: null,
    source: {
      topic: 'records',
      partition: 3,
      offset: 41,
      key: '/w==',
      key_encoding: 'base64',
      timestamp: '2026-01-01T00:00:00.000Z',
    },
    decided_at: '2026-01-02T03:04:05.678Z',
  });
  assert.deepEqual(
    records.map(({ key }) => key),
    [Buffer.from([0xff]), Buffer.from('other'), Buffer.from('größe'), null],
  );
  assert.deepEqual(receipts[1], receipts[0], 'source contains the key of the source record');
  assert.deepEqual(records[0]?.headers, headerList({ trace: 'abc', 'event-id': 'records-3-41#2' }));
  assert.deepEqual([receipts[2].source.key, receipts[2].source.key_encoding], ['größe', undefined]);
  assert.deepEqual(receipts[3].source, {
    topic: 'records',
    partition: 3,
    offset: 42,
    key: null,
    timestamp: null,
  });
});

test('no import is submitted again while the status path is temporarily lost', async () => {
  const known = new Set(['one', 'two']);
  let lost = false;
  let made = 0;
  const kind = kindOf(
    {},
    {
      createImport: async () => {
        known.add(`new-${++made}`);
        return { importId: `new-${made}`, uploadUrl: 'https://storage.example/x' };
      },
      getImport: async (importId) => {
        if (known.has(importId) && !lost) return { rawStatus: 'IN_PROGRESS' };
        throw new ServiceError('not_found', `${importId} responded with 404`, {
          operation: 'get_import',
          status: 404,
        });
      },
    },
  );
  const ask = (id: string) => kind.status(id, SIGNAL).then(({ state }) => state);
  assert.deepEqual([await ask('one'), made], ['pending', 0], 'no probe import is created');
  lost = true;
  for (let n = 0; n < 5; n++)
    await assert.rejects(ask('one'), { failure: 'not_found', message: /service\.importPath/ });
  assert.equal(made, 1);
  lost = false;
  assert.deepEqual([await ask('one'), await ask('gone'), made], ['pending', 'missing', 1]);
  known.delete('new-1');
  assert.deepEqual(
    [await ask('gone'), made],
    ['missing', 2],
    'the service may have dropped the probe import',
  );
});
