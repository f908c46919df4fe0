/**
 * Visits every state that the accounting of one shard can reach, with the real `Quota`: uploads take any time and fail
 * before or after they arrive, and owners are killed between the journal and the upload. Shards share nothing but the
 * clock, so the bounds of their shares add up to the bound of the pipeline. A killed owner sends nothing more, so its
 * upload has either arrived when it is killed or never arrives.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Quota, type QuotaLimits, type QuotaRecord } from '../../../src/core/journal/quota.ts';

/** Step of the clock. A minute of the quota takes four steps, because it is extended to the end of a second. */
const TICK_MS = 20_000;
const MINUTE_MS = 60_000;
const NOW_MS = 1_000 * 86_400_000;
const LARGEST = 2;
/** Maximum number of steps until everything is settled, which is more than any state needs. */
const PATIENCE = 60;

interface Configuration {
  readonly limits: QuotaLimits;
  /** Rows of each batch. */
  readonly batches: readonly number[];
  /** False if reviews end when the upload arrives. */
  readonly reviewsTakeTime: boolean;
}

/** Ages are ms before now. Batches are given by their rows. */
interface State {
  readonly isOwned: boolean;
  /** Rows by age, as the owner and the journal count them. */
  readonly owner: readonly (readonly [ageMs: number, rows: number])[];
  readonly journal: readonly (readonly [ageMs: number, rows: number])[];
  /** Batches that are not submitted yet, in memory or parked. */
  readonly fresh: readonly number[];
  /** Live jobs that are uploaded again by their owner, or submitted again after its end. */
  readonly again: readonly number[];
  /** Batch that has the turn of the shard and whose upload is under way, with the age of its count. */
  readonly turn: readonly [rows: number, ageMs: number] | undefined;
  readonly reviewed: readonly number[];
  /** Rows that the service received in the last minute, by age. */
  readonly received: readonly (readonly [ageMs: number, rows: number])[];
}

type Counts = State['owner'];

const quotaOf = (limits: QuotaLimits, counts: Counts): Quota =>
  new Quota(limits, NOW_MS, {
    seconds: counts.map(([ageMs, rows]) => [(NOW_MS - ageMs) / 1_000, rows]),
    day: [0, 0],
  });

/** Returns the counts of a quota after a change. Ages beyond the minute are dropped by `spend`. */
const countsOf = ({ seconds }: QuotaRecord): Counts =>
  seconds
    .filter(([, rows]) => rows > 0)
    .map(([second, rows]) => [NOW_MS - second * 1_000, rows] as const);

const sumOf = (counts: Counts): number => counts.reduce((sum, [, rows]) => sum + rows, 0);
const without = (all: readonly number[], one: number): number[] =>
  all.toSpliced(all.indexOf(one), 1);
const sorted = (all: readonly number[]): number[] => all.toSorted((a, b) => a - b);

/** Steps that need no fault. */
function* progress({ limits, reviewsTakeTime }: Configuration, state: State): Generator<State> {
  const { isOwned, owner, fresh, again, turn, reviewed, received } = state;
  if (!isOwned)
    yield {
      ...state,
      isOwned: true,
      owner: countsOf(quotaOf(limits, state.journal).spend(0, NOW_MS)),
    };
  for (const rows of new Set(reviewed)) yield { ...state, reviewed: without(reviewed, rows) };
  if (isOwned && turn !== undefined)
    yield {
      ...state,
      turn: undefined,
      reviewed: reviewsTakeTime ? sorted([...reviewed, turn[0]]) : [],
      received: [[0, turn[0]], ...received],
    };
  if (isOwned && turn === undefined) {
    const live = [...again, ...reviewed].reduce((sum, rows) => sum + rows, 0);
    const begin = (rows: number, changes: Partial<State>): State => {
      const counts = countsOf(quotaOf(limits, owner).spend(rows, NOW_MS));
      return { ...state, ...changes, turn: [rows, 0], owner: counts, journal: counts };
    };
    const mayGo = (rows: number, review?: { rows: number; share: number }) =>
      quotaOf(limits, owner).waitMs(rows, NOW_MS, review) === 0;
    for (const rows of new Set(again))
      if (mayGo(rows)) yield begin(rows, { again: without(again, rows) });
    for (const rows of new Set(fresh))
      if (mayGo(rows, { rows: live, share: 1 })) yield begin(rows, { fresh: without(fresh, rows) });
  }
  const older = (counts: Counts, mostMs: number): Counts =>
    counts
      .map(([ageMs, rows]) => [ageMs + TICK_MS, rows] as const)
      .filter(([ageMs]) => ageMs < mostMs);
  yield {
    ...state,
    owner: older(owner, MINUTE_MS + 1_000),
    journal: older(state.journal, MINUTE_MS + 1_000),
    // Ages above two minutes make no difference. Limiting them keeps the number of states finite.
    turn: turn && [turn[0], Math.min(turn[1] + TICK_MS, 2 * MINUTE_MS)],
    received: older(received, MINUTE_MS),
  };
}

function* faults({ limits }: Configuration, state: State): Generator<State> {
  const { isOwned, owner, again, turn, received } = state;
  if (!isOwned) return;
  const arrivals: Counts[] =
    turn === undefined ? [received] : [received, [[0, turn[0]], ...received]];
  for (const after of arrivals) {
    const left = turn === undefined ? again : sorted([...again, turn[0]]);
    const next = { ...state, received: after, again: left, turn: undefined };
    yield { ...next, isOwned: false, owner: [] };
    if (turn === undefined) continue;
    // The upload fails, but it may have arrived, so its count stays.
    yield next;
    if (after !== received) continue;
    const quota = quotaOf(limits, owner);
    quota.takeBack(turn[0], NOW_MS - turn[1]);
    yield { ...next, owner: countsOf(quota.spend(0, NOW_MS)) };
  }
}

const isDone = ({ fresh, again, turn, reviewed }: State): boolean =>
  fresh.length + again.length + reviewed.length === 0 && turn === undefined;

/** True if steps without faults settle everything. Advances the clock only if the shard has no other step. */
function settles(configuration: Configuration, state: State): boolean {
  let at = state;
  for (let step = 0; step < PATIENCE && !isDone(at); step++)
    at = progress(configuration, at).next().value as State;
  return isDone(at);
}

/** Visits every state. @returns the maximum number of rows in a minute */
function visit(configuration: Configuration): number {
  const { limits, batches } = configuration;
  const none = { owner: [], journal: [], again: [], turn: undefined, reviewed: [], received: [] };
  const start: State = { ...none, isOwned: true, fresh: sorted(batches) };
  const seen = new Set([JSON.stringify(start)]);
  const next = [start];
  let most = 0;
  for (let state = next.pop(); state !== undefined; state = next.pop()) {
    most = Math.max(most, sumOf(state.received));
    assert.ok(sumOf(state.received) <= limits.rowsPerMinute + LARGEST, JSON.stringify(state));
    assert.ok(settles(configuration, state), JSON.stringify(state));
    for (const one of [...progress(configuration, state), ...faults(configuration, state)]) {
      const key = JSON.stringify(one);
      if (seen.has(key)) continue;
      seen.add(key);
      next.push(one);
    }
  }
  return most;
}

test('no reachable state has more rows in a minute than the limit plus one batch, and each state can settle', () => {
  const limits = { rowsPerMinute: 3, rowsPerDay: Infinity, rowsUnderReview: Infinity };
  const most = visit({ limits, batches: [1, 1, 2, 2], reviewsTakeTime: false });
  assert.equal(most, limits.rowsPerMinute + LARGEST, 'the bound is reached');
});

test('batches that wait for reviews to end can settle from each reachable state', () => {
  const limits = { rowsPerMinute: 3, rowsPerDay: Infinity, rowsUnderReview: 2 };
  visit({ limits, batches: [1, 2], reviewsTakeTime: true });
});
