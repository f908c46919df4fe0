import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf } from '../../../src/core/batch/body-of.ts';
import type { JobContext, RemoteStatus } from '../../../src/core/ports/pipeline-kind.ts';
import type { ContentItem, SourceRecord } from '../../../src/core/record.ts';
import { VirtualClock } from '../../support/memory/clock.ts';
import { ReviewService, type ServiceScript } from '../../support/memory/service/review-service.ts';
import { ScriptedKind, sourceValue } from '../../support/memory/service/scripted-kind.ts';

const forever = new AbortController().signal;
const job: JobContext = {
  jobId: 'j',
  remoteId: 'batch-1',
  type: 'text',
  attempt: 1,
  decidedAtMs: 0,
};

function record(
  offset: number,
  value: string | null = sourceValue({ type: 'text', content: `content ${offset}` }),
): SourceRecord {
  return {
    partition: 0,
    offset,
    timestampMs: 0,
    key: null,
    value: value === null ? null : Buffer.from(value),
    headers: [],
  };
}

function world(script: ServiceScript = {}) {
  const clock = new VirtualClock();
  const service = new ReviewService(clock, clock, script);
  const kind = new ScriptedKind(service, clock, 'a');
  const outcome = async <T>(work: Promise<T>): Promise<T> => {
    let settled = false;
    const watched = work.finally(() => {
      settled = true;
    });
    watched.catch(() => {});
    await clock.runUntil(() => settled, 100_000);
    return watched;
  };
  const items = (count: number) =>
    Array.from({ length: count }, (_, offset): ContentItem => {
      const decoded = kind.decode(record(offset), 0);
      assert.ok('item' in decoded);
      return decoded.item;
    });
  const submit = async (count: number) => {
    const created = await outcome(kind.create('text', forever));
    await outcome(kind.upload(created, await bodyOf(kind, items(count)), forever));
    return created.remoteId;
  };
  const rows = async (status: RemoteStatus, signal = forever) => {
    const read: string[] = [];
    for await (const slice of kind.results(status, () => job, signal)) {
      for (const row of slice)
        read.push(
          'status' in row
            ? `${row.offset} ${row.status}`
            : 'malformed' in row
              ? row.malformed
              : 'broken',
        );
    }
    return read;
  };
  return {
    clock,
    service,
    kind,
    outcome,
    submit,
    rows,
    status: (id: string) => outcome(kind.status(id, forever)),
  };
}

test('a batch goes from created over uploaded and reviewed to its rows', async () => {
  const { service, kind, submit, status, outcome, rows } = world();
  const created = await outcome(kind.create('text', forever));
  assert.equal((await status(created.remoteId)).state, 'waiting_for_upload');
  const id = await submit(250);
  const answer = await status(id);
  assert.deepEqual([answer.state, answer.expectedRows], ['finished', 250]);
  const read = await outcome(rows(answer));
  assert.deepEqual([read.length, read[0], read.at(-1)], [250, '0 success', '249 success']);
  assert.deepEqual([service.submissions(0, 7), service.submissions(0, 250)], [1, 0]);
  assert.equal((await status('batch-99')).state, 'missing');
});

test('records that cannot be reviewed say why, and a rewind passes every filter', () => {
  const { kind } = world();
  const reason = (value: string | null) => {
    const decoded = kind.decode(record(0, value), 0);
    return 'poison' in decoded ? decoded.poison.reason : Object.keys(decoded)[0];
  };
  assert.deepEqual(
    [
      null,
      'x',
      '1',
      '{}',
      '{"type":"t"}',
      sourceValue({ type: 't', content: 'c', skip: true }),
    ].map(reason),
    ['null_value', 'not_json', 'not_an_object', 'no_type', 'no_content', 'skip'],
  );
  const again = kind.decode(record(0, sourceValue({ type: 'new', content: 'c', skip: true })), 2, {
    type: 'old',
  });
  assert.ok('item' in again);
  assert.deepEqual([again.item.type, again.item.replay], ['old', 2]);
});

test('the test decides when an upload arrives, when a review ends, and which rows come', async () => {
  const { clock, service, submit, status, outcome, rows } = world({
    arrivalMs: () => 1_000,
    review: () => ({ afterMs: 'never' }),
  });
  const id = await submit(3);
  assert.equal((await status(id)).state, 'waiting_for_upload');
  await clock.advance(1_000);
  assert.equal((await status(id)).state, 'pending');
  service.finish(id, (all) => {
    const [first, second] = all;
    assert.ok(first && second);
    return [
      second,
      first,
      first,
      { ...first, offset: 99 },
      { ...second, status: 'error' },
      { malformed: 'not a row' },
    ];
  });
  assert.deepEqual(await outcome(rows(await status(id))), [
    '1 success',
    '0 success',
    '0 success',
    '99 success',
    '1 error',
    'not a row',
  ]);
  service.end(id, 'missing');
  assert.equal((await status(id)).state, 'missing');
});

test('calls fail before or after their effect, hang until aborted, and downloads are cut', async () => {
  const faults: Record<string, ReturnType<NonNullable<ServiceScript['fault']>>> = {};
  const { clock, service, kind, submit, status, outcome, rows } = world({
    fault: (operation) => faults[operation],
  });
  faults.create = { failure: 'rejected' };
  await assert.rejects(outcome(kind.create('text', forever)), {
    name: 'ServiceError',
    failure: 'rejected',
  });
  assert.equal(service.batches.size, 0);
  faults.create = { failure: 'unavailable', after: true, retryAfterMs: 500 };
  await assert.rejects(outcome(kind.create('text', forever)), {
    failure: 'unavailable',
    retryAfterMs: 500,
  });
  assert.equal(service.batches.size, 1);
  faults.create = { hangMs: 30_000 };
  const givesUp = clock.now() + 30_000;
  await assert.rejects(outcome(kind.create('text', forever)), { failure: 'unavailable' });
  assert.equal(clock.now(), givesUp);
  faults.create = { hangMs: Number.POSITIVE_INFINITY, after: true };
  const stop = new AbortController();
  const hanging = assert.rejects(kind.create('text', stop.signal), /enough/);
  await clock.advance(100_000);
  assert.equal(service.batches.size, 2);
  stop.abort(new Error('enough'));
  await hanging;
  delete faults.create;
  const answer = await status(await submit(300));
  faults.results = { failure: 'protocol', afterRows: 120 };
  await assert.rejects(outcome(rows(answer)), { failure: 'protocol' });
  faults.results = { failure: 'expired' };
  await assert.rejects(outcome(rows(answer)), { failure: 'expired' });
  await assert.rejects(outcome(rows(answer, stop.signal)), /enough/);
});

test('a call whose signal was aborted before is never sent', async () => {
  const { clock, service, kind } = world({ fault: () => ({ failure: 'unavailable' }) });
  await assert.rejects(kind.create('text', AbortSignal.abort(new Error('enough'))), /enough/);
  await clock.settle();
  assert.equal(service.calls.create, 0);
});

test('a second submission of the same record is counted', async () => {
  const { service, submit } = world();
  await submit(2);
  await submit(1);
  assert.deepEqual([service.submissions(0, 0), service.submissions(0, 1)], [2, 1]);
});

test('terminal records say which source record they settle, and how', () => {
  const { kind } = world();
  const decoded = kind.decode(record(4), 0);
  assert.ok('item' in decoded);
  const { value } = kind.failure(
    decoded.item,
    { code: 'review_timeout', message: 'too late' },
    job,
  );
  assert.deepEqual(JSON.parse(String(value)), {
    partition: 0,
    offset: 4,
    status: 'error',
    job: 'j',
    remote: 'batch-1',
    type: 'text',
    attempt: 1,
    error: { code: 'review_timeout', message: 'too late' },
  });
});
