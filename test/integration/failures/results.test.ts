/** Rows of the failure table: result files. The name of a test begins with the event of its row. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultInput } from '../../../packages/sandbox/src/faults/schema.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { outcomes, run, type Scene } from './scenes.ts';

const LONG = 'y'.repeat(2_000);
/** Eight rows of 2 KiB: a cut after 9,000 bytes is within the file, and within a row. */
const long = (name: string) =>
  Array.from({ length: 8 }, (_, n) => ({
    value: JSON.stringify({
      type: name,
      content: `text ${n} ${LONG}`,
      metadata: { author: `author-${n}` },
    }),
  }));

const TORN = 'the row of this text never closes its quote';
/** Ways in which a file settles nothing. */
const SPOILED = {
  page: { action: 'file', as: 'html' },
  'header-only': { action: 'file', as: 'header_only' },
  commas: { action: 'file', as: 'commas', bytes: 3 * 1024 * 1024 },
  'dropped-reference': { action: 'rows', dropped: ['connector_ref'] },
  'all-malformed': { action: 'rows', malformed: 1_000, refColumn: 'connector_ref' },
} as const;

const { scene } = await run(
  await testKafka(),
  {
    stale: { faults: [{ operation: 'get_batch', action: 'expired_url', times: 'always' }] },
    cut: {
      events: long('cut'),
      faults: [{ operation: 'download', action: 'cut', afterBytes: 9_000, times: 2 }],
    },
    reset: { events: long('reset'), faults: [{ operation: 'download', action: 'reset_after' }] },
    short: {
      events: long('short'),
      faults: [
        { operation: 'download', action: 'short', bytes: 9_000 },
        // Within the last cell of the first row, and within the header.
        { operation: 'download', action: 'short', bytes: 2_150 },
        { operation: 'download', action: 'short', bytes: 20 },
      ],
    },
    unreadable: {
      faults: [
        {
          operation: 'download',
          action: 'answer',
          status: 200,
          body: '<html>not here</html>',
          times: 4,
        },
      ],
    },
    missing: {
      faults: [{ operation: 'review', action: 'rows', missing: 3 }],
    },
    never: {
      events: 2,
      faults: [{ operation: 'review', action: 'rows', missing: 1, times: 'always' }],
    },
    ...Object.fromEntries(
      Object.entries(SPOILED).map(([name, fault]) => [
        name,
        {
          events: 40,
          faults: [{ operation: 'review', times: 'always', ...fault }] as FaultInput[],
          pipeline: { batch: { maxRows: 5 }, review: { attempts: 3 } },
        },
      ]),
    ),
    torn: {
      events: Array.from({ length: 16 }, (_, n) => ({
        value: JSON.stringify({ type: 'torn', content: n === 5 ? TORN : `text ${n}` }),
      })),
      faults: [{ operation: 'review', action: 'rows', unclosed: TORN, times: 'always' }],
      pipeline: { batch: { maxRows: 16 }, review: { pause: '100ms' } },
    },
    malformed: {
      events: 2,
      faults: [
        {
          operation: 'review',
          action: 'rows',
          malformed: 1,
          refColumn: 'connector_ref',
          times: 'always',
        },
      ],
    },
    mangled: {
      faults: [
        {
          operation: 'review',
          action: 'rows',
          duplicated: 2,
          malformed: 1,
          forged: 1,
          unknown: 2,
          shuffled: true,
          refColumn: 'connector_ref',
        },
      ],
    },
    published: {
      events: [{ value: JSON.stringify({ type: 'published', content: 'make this row fail' }) }],
    },
    busy: {
      faults: [
        {
          operation: 'download',
          action: 'answer',
          status: 503,
          code: 'SlowDown',
          retryAfter: '1s',
          times: 4,
        },
      ],
    },
  },
  {
    policy: {
      results: { columns: ['metadata', 'status', 'expected', 'labels', 'result', 'content'] },
      review: { rules: [{ when: { contains: 'make this row fail' }, error: true }] },
    },
  },
);

/** Nothing of a row may be lost by a cut, also where the row had the right number of cells. */
async function endsWhole(one: Scene): Promise<void> {
  for (const [n, { decision }] of (await one.endsWell()).entries()) {
    assert.equal(decision?.result, 'approved');
    assert.deepEqual(decision?.metadata, { author: `author-${n}` });
  }
  assert.equal(one.batches.length, 1, 'nothing was submitted again');
}

// First: each pause that passes meanwhile costs the records of a probe an attempt.
test('result files that settle nothing: the type pauses, no record is given up, and all are decided once the service recovers', async () => {
  const pausesAndRecovers = async (name: string): Promise<void> => {
    const spoiled = scene(name);
    await spoiled.untilLogged(/"level":"error".*batches of this content type keep failing/);
    await spoiled.untilMetric('shards_paused', { reason: 'type_blocked' }, (value) => value >= 1);
    assert.equal(await spoiled.metric('decisions_total', { status: 'ERROR' }), 0, name);
    spoiled.lift();
    await spoiled.endsWell();
  };
  await Promise.all(Object.keys(SPOILED).map(pausesAndRecovers));
});

test('download address expired: the batch is requested again, which returns a new address', async () => {
  const stale = scene('stale');
  await stale.untilLogged(/download at [^"]* answered 403 AccessDenied/);
  stale.lift();
  await stale.endsWell();
  assert.equal(stale.batches.length, 1);
});

test('download cut or unreadable: an interrupted download is repeated and nothing is settled twice', async () => {
  await endsWhole(scene('cut'));
  await endsWhole(scene('reset'));
  await scene('cut').untilLogged(/was cut/);
});

test('download cut or unreadable: a file that ends within a row although its length is correct', async () => {
  await endsWhole(scene('short'));
});

test('download cut or unreadable: a file that is never a result file is abandoned, and its records are submitted again', async () => {
  const unreadable = scene('unreadable');
  await unreadable.endsWell();
  assert.equal(await unreadable.metric('result_anomalies_total', { kind: 'unreadable' }), 1);
  assert.equal(unreadable.batches.length, 2);
});

test('download cut or unreadable: a row that breaks its file is finally alone, and all others are decided', async () => {
  const torn = outcomes(await scene('torn').ends());
  assert.match(torn[5] ?? '', /^ERROR (results_unreadable|rows_malformed)$/);
  assert.deepEqual(torn.toSpliced(5, 1), new Array(15).fill('SUCCESS'));
});

test('storage overloaded during a download: Retry-After is respected, and rows never count as missing', async () => {
  const busy = scene('busy');
  await busy.endsWell();
  assert.equal(busy.batches.length, 1);
  // Three tries of the client, and a fourth after the batch was asked for again: each no sooner than it was told.
  await busy.untilLogged(/503 SlowDown.*tried 3 times|tried 3 times.*503 SlowDown/);
});

test('result rows missing: the file is downloaded again, then the records without a row are submitted again', async () => {
  const missing = scene('missing');
  await missing.endsWell();
  assert.deepEqual(
    missing.batches.map(({ rows }) => rows),
    [8, 3],
  );
  assert.equal(await missing.metric('result_anomalies_total', { kind: 'missing' }), 3);
});

test('result rows missing: a permanently missing row gives its record an ERROR decision', async () => {
  const never = scene('never');
  assert.deepEqual(outcomes(await never.ends()).toSorted(), ['ERROR rows_missing', 'SUCCESS']);
});

test('result rows malformed: the records are submitted again, and the decision states the defect of the row', async () => {
  const malformed = scene('malformed');
  const terminal = await malformed.ends();
  assert.deepEqual(outcomes(terminal).toSorted(), ['ERROR rows_malformed', 'SUCCESS']);
  const values = terminal.map(({ record }) => String(record.value)).join('\n');
  assert.match(
    values,
    /"message":"[^"]*only malformed rows for this item: the reference is not of this connector"/,
  );
  assert.ok(
    malformed.log.some(
      (line) =>
        line.includes('"malformed":1') && line.includes('the reference is not of this connector'),
    ),
  );
});

test('result rows duplicate, unknown or shuffled: each record is decided once with its own key, other rows are counted and dropped', async () => {
  const mangled = scene('mangled');
  const terminal = await mangled.endsWell();
  for (const [n, { decision, record }] of terminal.entries()) {
    assert.deepEqual(decision?.metadata, { n });
    assert.doesNotMatch(`${record.key} ${record.value}`, /forged/);
  }
  assert.ok(mangled.log.some((line) => line.includes('references that differ from the upload')));
  // At least: an owner that loses its shard before the first commit leaves the file to the next, who counts them again.
  for (const [kind, count] of [
    ['duplicate', 2],
    // Copies with other numbers lack a signature, too.
    ['forged', 3],
    ['malformed', 1],
  ] as const) {
    assert.ok((await mangled.metric('result_anomalies_total', { kind })) >= count, kind);
  }
});

test('result rows with status ERROR: they are published as they are', async () => {
  const published = scene('published');
  assert.deepEqual(outcomes(await published.ends()), ['ERROR review_failed']);
  assert.equal(published.batches.length, 1);
});
