import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import { reviewKind } from '../../../../src/kinds/review/index.ts';
import type { ReviewService } from '../../../../src/kinds/service-ports.ts';
import { unpooledBody } from '../../../support/review/unpooled-body.ts';
import { SIGNAL, scriptedService } from './sample.ts';

function kindOf(over: Partial<ReviewService>) {
  return reviewKind({ topic: 'events' }, scriptedService(over));
}

function batch(rawStatus: string, downloadUrl?: string, success?: number, error?: number) {
  return kindOf({
    getBatch: async (batchId) => {
      assert.equal(batchId, 'b-1');
      return { type: undefined, rawStatus, downloadUrl, counts: { success, error } };
    },
  }).status('b-1', SIGNAL);
}

test('a batch is created with its type and uploaded as text/csv to the returned address', async () => {
  const calls: unknown[] = [];
  const kind = kindOf({
    createBatch: async (type, { signal }) => {
      calls.push([type, signal]);
      return { batchId: 'b-1', uploadUrl: 'https://storage.example/put' };
    },
    upload: async (url, body, { contentType, signal }) => {
      calls.push([url, body, contentType, signal]);
    },
  });
  const job = await kind.create('post', SIGNAL);
  assert.deepEqual(job, { remoteId: 'b-1', uploadUrl: 'https://storage.example/put' });
  const body = Buffer.from('Content\r\n');
  await kind.upload(job, unpooledBody(body, 0), SIGNAL);
  assert.deepEqual(calls, [
    ['post', SIGNAL],
    ['https://storage.example/put', body, 'text/csv', SIGNAL],
  ]);
});

test('every batch status maps to a state, in any case and spacing', async () => {
  for (const [raw, state] of [
    ['WAITING_FOR_UPLOAD', 'waiting_for_upload'],
    ['WATING_FOR_UPLOAD', 'waiting_for_upload'],
    [' pending ', 'pending'],
    ['CANCELLED', 'cancelled'],
    ['ERROR', 'failed'],
    ['ARCHIVED', 'unknown'],
    ['', 'unknown'],
  ] as const) {
    assert.deepEqual(await batch(raw), { state, rawState: raw });
  }
});

test('a finished batch has its address, and a row count if the service reports both parts of the count', async () => {
  const url = 'https://storage.example/get';
  const finished = { state: 'finished', rawState: 'SUCCESS', resultUrl: url };
  assert.deepEqual(await batch('SUCCESS', url), finished);
  assert.deepEqual(await batch('SUCCESS', url, 3), finished);
  assert.deepEqual(await batch('SUCCESS', url, 3, 0), { ...finished, expectedRows: 3 });
});

test('a batch that the service does not know is missing, and any other failure is passed on', async () => {
  const failing = (failure: 'not_found' | 'unavailable', status: number) =>
    kindOf({
      getBatch: async () => {
        throw new ServiceError(failure, 'no', { operation: 'get_batch', status });
      },
    }).status('b-1', SIGNAL);
  assert.deepEqual(await failing('not_found', 410), { state: 'missing', rawState: 'HTTP 410' });
  await assert.rejects(failing('unavailable', 503), ServiceError);
});
