/**
 * Plays histories of the engine in a world in memory, on all cores. Every run plays the same histories
 * (docs/internals/testing.md).
 */
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { SIMULATED_KINDS } from '../support/engine/simulation/kinds.ts';
import { playAll } from '../support/engine/simulation/search/pool.ts';

/** Takes about 15 s of processor time. `npm run simulate` plays thousands of histories. */
const HISTORIES = 252;
/** First seed, which differs from the seeds of the property tests. */
const FROM = 300_001;

const ACTIONS = [
  'produce',
  'start',
  'stop',
  'kill',
  'freeze',
  'isolate',
  'crash client',
  'rebalance',
  'expire transaction',
  'compact',
  'add partition',
  'step clock',
  'damage',
  'retention',
  'reset',
  'command',
  'spoil command',
];
const COMMITS =
  'reply-lost lost fenced committed-fenced aborted unsent late rejected too-large silent';
const FAILURES = [
  'rejected',
  'unauthorized',
  'not_found',
  'too_large',
  'expired',
  'unavailable',
  'protocol',
  'hangs',
];
/** Faults that may be missing in this small number of histories. */
const RARE = ['service results protocol', 'service decision unauthorized'];
const FAULTS = [
  ...ACTIONS,
  ...COMMITS.split(' ').map((fate) => `commit ${fate}`),
  ...[
    'killed in commit',
    'frozen in commit',
    'stale batch',
    'stale offset',
    'compaction in replay',
  ],
  ...['unreadable_batch', 'too_large', 'too_many_headers'].map((reason) => `records: ${reason}`),
  ...['odd timestamps', 'gap of 2^28 offsets'],
  ...[
    'read failed',
    'admin failed',
    'late upload',
    'spoiled results',
    'service results cut',
    'decision status',
  ],
  ...['failed', 'cancelled', 'stuck', 'unknown', 'forgotten'].map((how) => `review ${how}`),
  ...['create', 'upload', 'status', 'results', 'decision'].flatMap((call) =>
    FAILURES.map((failure) => `service ${call} ${failure}`).filter((name) => !RARE.includes(name)),
  ),
  // Faults after the effect: the response is lost.
  ...['create', 'upload', 'status', 'decision'].map((call) => `service ${call} unavailable, done`),
];
const OUTCOMES = [
  ...['committed', 'fenced', 'unknown', 'aborted', 'rejected', 'too_large'].map(
    (outcome) => `transactions_total ${outcome}`,
  ),
  ...['owned', 'failed'].map((outcome) => `claims_total ${outcome}`),
  ...[
    'batch_failed',
    'batch_cancelled',
    'batch_unknown',
    'upload_lost',
    'upload_expired',
    'upload_rejected',
    'upload_too_large',
  ].map((reason) => `jobs_failed_total ${reason}`),
  ...['rows_missing', 'review_timeout'].map((reason) => `jobs_failed_total ${reason}`),
  ...['missing', 'duplicate', 'malformed'].map((kind) => `result_anomalies_total ${kind}`),
  ...[
    'not_json',
    'empty_content',
    'source_unavailable',
    'too_large',
    'rejected_type',
    'unreadable_batch',
    'too_many_headers',
  ].map((reason) => `dead_lettered_total ${reason}`),
  ...['SUCCESS', 'ERROR'].map((status) => `decisions_total ${status}`),
  ...['ended: refused', 'ended: not live', 'ended: could not start'],
  ...[
    'items_recovered_total',
    'items_resubmitted_total',
    'unread_records_lost_total',
    'reset_skipped_records_total',
  ],
  'resets adopted',
  'drains acknowledged',
  ...['pause', 'drain', 'resume'].map((command) => `command: ${command} reached`),
  ...['superseded', 'failed'].map((outcome) => `command: drain ${outcome}`),
  ...SIMULATED_KINDS.map((kind) => `histories of kind ${kind}`),
  ...['SUCCESS', 'batch_failed', 'upload_too_large', 'review_timeout'].map(
    (said) => `import ends with ${said}`,
  ),
  ...['SUCCESS', 'review_failed', 'decision_unknown', 'review_timeout'].map(
    (said) => `lookup ends with ${said}`,
  ),
];

test(`${HISTORIES} histories: every fault happens, and no rule is violated`, async () => {
  const tally = await playAll({
    from: FROM,
    seeds: HISTORIES,
    jobs: availableParallelism(),
    maxFound: 3,
  });
  assert.deepEqual(
    tally.found.map(({ seed, message }) => `npm run simulate -- --seed ${seed}: ${message}`),
    [],
  );
  assert.equal(tally.histories, HISTORIES);
  const never = [
    ...FAULTS.filter((fault) => (tally.faults[fault] ?? 0) === 0),
    ...OUTCOMES.filter((outcome) => (tally.coverage[outcome] ?? 0) === 0),
  ];
  assert.deepEqual(
    never,
    [],
    'every event must happen: a simulation proves nothing about events that never happened',
  );
});
