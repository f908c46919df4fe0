/** Rows of the failure table about result files. The name of a test begins with the event of its row. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testKafka } from '../../support/kafka/kafka.ts';
import { outcomes, run, type Scene } from './scenes.ts';

const LONG = 'y'.repeat(2_000);
/** Returns eight rows of 2 KiB. A cut after 9,000 bytes is within a row. */
const long = (name: string) =>
  Array.from({ length: 8 }, (_, n) => ({
    value: JSON.stringify({
      type: name,
      content: `text ${n} ${LONG}`,
      metadata: { author: `author-${n}` },
    }),
  }));
const { scene } = await run(
  await testKafka(),
  {
    stale: { faults: [{ operation: 'get_batch', action: 'expired_url', times: 'always' }] },
    cut: {
      events: long('cut'),
      faults: [{ operation: 'download', action: 'cut', afterBytes: 9_000, times: 2 }],
    },
    reset: { events: long('reset'), faults: [{ operation: 'download', action: 'reset_after' }] },
    missing: {
      faults: [{ operation: 'review', action: 'rows', missing: 3, reversed: true }],
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
          reversed: true,
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
          times: 6,
        },
      ],
    },
  },
  {
    policy: {
      review: { rules: [{ when: { contains: 'make this row fail' }, error: true }] },
    },
  },
);

/** Asserts that a cut download yields no truncated row, even if the row would have the right number of cells. */
async function endsWhole(one: Scene): Promise<void> {
  for (const [n, { decision }] of (await one.endsWell()).entries()) {
    assert.equal(decision?.result, 'approved');
    assert.deepEqual(decision?.metadata, { author: `author-${n}` });
  }
  assert.equal(one.batches.length, 1, 'nothing was submitted again');
}

test('download address expired: the batch is requested again, which returns a new address', async () => {
  const stale = scene('stale');
  await stale.untilLogged(/download at [^"]* responded with 403 AccessDenied/);
  stale.lift();
  await stale.endsWell();
  assert.equal(stale.batches.length, 1);
});

test('download cut or unreadable: an interrupted download is repeated and nothing is settled twice', async () => {
  await endsWhole(scene('cut'));
  await endsWhole(scene('reset'));
  await scene('cut').untilLogged(/was cut/);
});

test('storage overloaded during a download: Retry-After is respected, and no rows count as missing', async () => {
  const busy = scene('busy');
  await busy.endsWell();
  assert.equal(busy.batches.length, 1);
  // Five attempts of the client, and a sixth after another request for the batch, all after Retry-After.
  await busy.untilLogged(/503 SlowDown.*tried 5 times|tried 5 times.*503 SlowDown/);
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

test('result rows malformed: the records are submitted again, and the decision states the defect of the row', async () => {
  const malformed = scene('malformed');
  const terminal = await malformed.ends();
  assert.deepEqual(outcomes(terminal).toSorted(), ['ERROR rows_malformed', 'SUCCESS']);
  const values = terminal.map(({ record }) => String(record.value)).join('\n');
  assert.match(
    values,
    /"message":"[^"]*only malformed rows for this item: the reference was not written by this connector"/,
  );
  assert.ok(
    malformed.log.some(
      (line) =>
        line.includes('"malformed":1') &&
        line.includes('the reference was not written by this connector'),
    ),
  );
});

test('result rows duplicate, unknown or shuffled: each record is decided once with its key, and other rows are dropped', async () => {
  const mangled = scene('mangled');
  const terminal = await mangled.endsWell();
  for (const [n, { decision, record }] of terminal.entries()) {
    assert.deepEqual(decision?.metadata, { n });
    assert.doesNotMatch(`${record.key} ${record.value}`, /forged/);
  }
  assert.ok(mangled.log.some((line) => line.includes('references that differ from the upload')));
  // The count may be higher: if an owner loses its shard before the first commit, the next owner counts the rows again.
  for (const [kind, count] of [
    ['duplicate', 2],
    // Includes copies with other numbers, which also lack a signature.
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
