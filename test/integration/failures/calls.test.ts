/** Rows of the failure table about failing calls. The name of a test begins with the event of its row. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testKafka } from '../../support/kafka/kafka.ts';
import { headerOf } from '../../support/records/headers.ts';
import { outcomes, run } from './scenes.ts';

const REFUSED = {
  operation: 'create_batch',
  action: 'answer',
  status: 400,
  code: 'unknown_type',
} as const;
const LINE = 'x'.repeat(900);

const { scene, replica } = await run(
  await testKafka(),
  {
    unreadable: {
      events: [
        { key: 'k', value: 'not JSON', headers: [['trace', 't']] },
        { key: 'k', value: null },
        { value: '{"content":""}' },
      ],
    },
    held: { faults: [{ ...REFUSED, times: 'always' }] },
    odd: {
      faults: [
        { operation: 'create_batch', action: 'answer', status: 200, body: 'hello' },
        { operation: 'create_batch', action: 'answer', status: 404 },
        { operation: 'get_batch', action: 'answer', status: 200, body: '{"batch_id":"another"}' },
        { operation: 'get_batch', action: 'answer', status: 405 },
      ],
    },
    quoting: {
      faults: [
        { operation: 'get_batch', action: 'quote', in: 'message' },
        { operation: 'get_batch', action: 'quote', in: 'state' },
      ],
    },
    unclear: {
      faults: [
        { operation: 'create_batch', action: 'reset_after' },
        { operation: 'create_batch', action: 'reset_before' },
        { operation: 'create_batch', action: 'answer', status: 200, body: '{}' },
      ],
    },
    twice: {
      events: 2,
      faults: [
        { operation: 'create_batch', action: 'repeat_id', skip: 1 },
        { operation: 'review', action: 'stuck', for: '1500ms' },
      ],
      pipeline: { batch: { maxRows: 1 } },
    },
    expired: { faults: [{ operation: 'create_batch', action: 'expired_url' }] },
    large: {
      events: [0, 1, 2, 3].map((n) => ({
        value: JSON.stringify({
          type: 'large',
          content: `text ${n} ${n === 2 ? LINE.repeat(5) : LINE}`,
        }),
      })),
    },
    forbidden: {
      events: 2,
      faults: [
        {
          operation: 'upload',
          action: 'answer',
          status: 403,
          code: 'AccessDenied',
          times: 'always',
        },
      ],
    },
    unknown: {
      faults: [
        { operation: 'get_batch', action: 'state', state: 'WATING_FOR_UPLOAD' },
        { operation: 'get_batch', action: 'state', state: 'ON_FIRE', times: 2 },
        {
          operation: 'review',
          action: 'rows',
          columns: { Reviewer: 'someone' },
          refColumn: 'connector_ref',
        },
      ],
    },
  },
  { policy: { storage: { maxUploadBytes: '3KiB' } } },
);

test('record that cannot be reviewed: it becomes an unchanged dead letter with the reason', async () => {
  const unreadable = scene('unreadable');
  const terminal = await unreadable.ends();
  assert.deepEqual(outcomes(terminal), ['not_json', 'null_value', 'empty_content']);
  const [first] = terminal;
  assert.deepEqual(
    [
      String(first?.record.key),
      String(first?.record.value),
      headerOf(first?.record ?? {}, 'trace'),
    ],
    ['k', 'not JSON', 't'],
  );
  assert.equal(await unreadable.metric('dead_lettered_total', { reason: 'not_json' }), 1);
});

test('type rejected on create: an error is logged, and the type’s records wait until the service accepts a batch', async () => {
  const held = scene('held');
  await held.untilMetric('shards_paused', { reason: 'type_blocked' }, (value) => value === 1);
  assert.deepEqual(held.batches, []);
  held.lift();
  await held.endsWell();
  await held.untilMetric('shards_paused', { reason: 'type_blocked' }, (value) => value === 0);
  await held.untilLogged(/"level":"error".*refuses this content type/);
  assert.equal(held.batches.length, 1);
});

test('response that violates the API contract: the call is repeated until the response is valid', async () => {
  const odd = scene('odd');
  await odd.endsWell();
  assert.equal(odd.batches.length, 1);
  await odd.untilLogged(/could not create a batch/);
  await odd.untilLogged(/could not poll the state/);
});

test('response that violates the API contract: quoted rows of an upload are not logged', async () => {
  const quoting = scene('quoting');
  await quoting.endsWell();
  // When the replica ends, its log, metrics and pages are searched for the content of all scenes.
  assert.match(await quoting.untilLogged(/responded with 400/), /responded with 400 bad_row;/);
  assert.match(await quoting.untilLogged(/an unknown state/), /which does not look like a status/);
});

test('create without a clear response: the request is repeated, and the orphan is counted and not uploaded', async () => {
  const unclear = scene('unclear');
  await unclear.endsWell();
  assert.deepEqual(
    unclear.batches.map(({ uploaded }) => uploaded !== null),
    [false, true],
  );
  // Includes a lost response, a reset and a response without an id, and the invalid JSON of the scene `odd`.
  assert.equal(await replica.metric('orphaned_jobs_total'), 4);
});

test('remote id returned twice: it is not used for a second batch, and another batch is created', async () => {
  const twice = scene('twice');
  const terminal = await twice.endsWell();
  assert.equal(new Set(terminal.map(({ decision }) => decision?.batch.id)).size, 2);
  await twice.untilLogged(/"level":"error".*the id of a live job/);
});

test('upload address expired: the batch is abandoned and its records are submitted in a new one', async () => {
  const expired = scene('expired');
  await expired.endsWell();
  assert.deepEqual(
    expired.batches.map(({ rows }) => rows),
    [0, 8],
  );
  assert.equal(await expired.metric('jobs_failed_total', { reason: 'upload_expired' }), 1);
});

test('upload too large for the storage: the batch is halved, and a single item gets an ERROR decision', async () => {
  const large = scene('large');
  const terminal = await large.ends();
  assert.deepEqual(outcomes(terminal), ['SUCCESS', 'SUCCESS', 'ERROR upload_too_large', 'SUCCESS']);
  assert.ok((await large.metric('jobs_failed_total', { reason: 'upload_too_large' })) >= 3);
});

test('upload refused: the records are submitted again, then halved, and a single refused record gets an ERROR decision', async () => {
  const forbidden = scene('forbidden');
  const terminal = await forbidden.ends();
  assert.deepEqual(outcomes(terminal), ['ERROR upload_rejected', 'ERROR upload_rejected']);
  // The whole batch is refused twice, then each half at least once.
  assert.ok((await forbidden.metric('jobs_failed_total', { reason: 'upload_rejected' })) >= 4);
});

test('unknown columns and states: they are tolerated, and each state is logged once', async () => {
  const unknown = scene('unknown');
  await unknown.endsWell();
  assert.equal(unknown.batches.length, 1);
  await unknown.untilLogged(/an unknown state/);
  const said = unknown.log.filter((line) => line.includes('an unknown state'));
  assert.deepEqual([said.length, said[0]?.includes('ON_FIRE')], [1, true]);
});
