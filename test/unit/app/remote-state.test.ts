/** Service calls of the tools, for each kind of pipeline. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import { remoteState } from '../../../src/app/tools/inspect.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { SIGNAL } from '../kinds/review/sample.ts';

const COUNTS = { total: 9, success: 4, pending: 3, error: 2, cancelled: undefined };
const NOTHING = { finished: undefined, total: undefined };

function stateOf(kind: string, answer: () => { status: string | undefined; rawStatus: string }) {
  const text = `
service: {baseUrl: "https://review.example", apiKey: "k"}
kafka: {brokers: [localhost:9092]}
pipelines: [{name: p, kind: ${kind}, source: {topic: in}, output: {topic: out}}]`;
  const [pipeline] = parseConfig(text, {}, { file: 'f', directory: '.' }).pipelines;
  assert.ok(pipeline !== undefined);
  const calls: string[] = [];
  const call = (name: string) => async (id: string) => {
    calls.push(`${name} ${id}`);
    return answer();
  };
  const getBatch = async (id: string) => ({ ...(await call('batch')(id)), counts: COUNTS });
  const service = { getBatch, getImport: call('import') };
  return { remoteBatch: remoteState(pipeline, service, SIGNAL), calls };
}

const pending = () => ({ status: 'PENDING', rawStatus: 'pending' });
const failing = (failure: 'not_found' | 'protocol' | 'unavailable') => () => {
  throw new ServiceError(failure, 'get_import at h/v1/import/i-1 answered', {
    operation: 'get_import',
  });
};

test('a batch is asked for as a batch, with its counts, an import as an import, and a status by its documented name', async () => {
  const review = stateOf('review', pending);
  assert.deepEqual(await review.remoteBatch?.('b-1'), { status: 'PENDING', finished: 6, total: 9 });
  const imports = stateOf('import', () => ({ status: undefined, rawStatus: 'RESTING' }));
  assert.deepEqual(await imports.remoteBatch?.('i-1'), { status: 'RESTING', ...NOTHING });
  assert.deepEqual([review.calls, imports.calls], [['batch b-1'], ['import i-1']]);
});

test('a lookup has no batch to ask for', () => {
  assert.equal(stateOf('lookup', pending).remoteBatch, undefined);
});

test('an unknown id and an answer that makes no sense are answers; a service that cannot be asked is none', async () => {
  assert.equal(
    (await stateOf('import', failing('not_found')).remoteBatch?.('i-1'))?.status,
    'unknown_to_service',
  );
  assert.deepEqual(await stateOf('import', failing('protocol')).remoteBatch?.('i-1'), {
    status: 'unreadable_answer',
    problem: 'get_import at h/v1/import/i-1 answered',
    ...NOTHING,
  });
  await assert.rejects(
    stateOf('import', failing('unavailable')).remoteBatch?.('i-1') ?? assert.fail(),
    {
      failure: 'unavailable',
    },
  );
});
