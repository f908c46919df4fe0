/** Conditions for reading a backlog: memory for coordinates, records in flight, size of the progress record. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PartitionState } from '../../../../src/core/journal/partition-state.ts';
import { ShardState } from '../../../../src/core/journal/shard-state.ts';
import type { ContentItem } from '../../../../src/core/record.ts';
import { ENGINE_LIMITS } from '../../../../src/pipeline/context/options.ts';
import type { ShardContext } from '../../../../src/pipeline/context/shard-context.ts';
import { InFlight } from '../../../../src/pipeline/limits/in-flight.ts';
import { Lane } from '../../../../src/pipeline/limits/lanes.ts';
import { MemoryBudget } from '../../../../src/pipeline/limits/memory-budget.ts';
import { Deferrals } from '../../../../src/pipeline/source/deferrals.ts';

const ARCHIVE = new Lane('archive', 0.5, Infinity);
const LIMITS = { maxRows: 1, maxBytes: 1_000, maxAgeMs: 1_000, maxOffsetBytes: 1_000 };

/** Returns the deferrals of a shard with one partition, whose batches are never submitted. */
function deferralsOf(budget: MemoryBudget) {
  const own = PartitionState.startAt(0, 0);
  own.leap(0, 10);
  const shard = {
    ...{ budget, inFlight: new InFlight(), signal: new AbortController().signal },
    options: { ...ENGINE_LIMITS, source: { maxInFlight: 1_000 } },
    state: new ShardState(new Map([[0, own]]), new Map(), 1),
    repeating: () => () => {},
  } as unknown as ShardContext;
  const deferrals = new Deferrals(
    shard,
    () => LIMITS,
    () => Promise.resolve(),
  );
  let offset = 0;
  return {
    ...{ deferrals, own },
    defer: () => {
      const item = { type: 'post', partition: 0, offset: offset++, timestampMs: 0, bytes: 10 };
      deferrals.add(ARCHIVE, item as unknown as ContentItem);
    },
  };
}

/** Returns true if the shard may read more of its partition's backlog now, without waiting. */
async function mayRead(deferrals: Deferrals): Promise<boolean> {
  let may = false;
  void deferrals.roomForMore(0).then(() => {
    may = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return may;
}

test('a shard with coordinates reads no backlog while the coordinates of all shards fill a fifth of the memory', async () => {
  const budget = new MemoryBudget(1_000_000);
  const [one, other, idle] = [deferralsOf(budget), deferralsOf(budget), deferralsOf(budget)];
  other.defer();
  while (budget.usedBytes <= 150_000) one.defer();
  assert.ok(await mayRead(one.deferrals));
  while (budget.usedBytes <= 200_000) other.defer();
  assert.ok(!(await mayRead(one.deferrals)));
  assert.ok(!(await mayRead(other.deferrals)));
  assert.ok(
    await mayRead(idle.deferrals),
    'a shard without coordinates does not wait for the other shards',
  );
  other.deferrals[Symbol.dispose]();
  assert.ok(await mayRead(one.deferrals));
});

test('a backlog is not read while too many records of its partition are unsettled', async () => {
  const { deferrals, own } = deferralsOf(new MemoryBudget(1_000_000));
  own.taken = 1_001;
  assert.ok(!(await mayRead(deferrals)));
  own.taken = 1_000;
  assert.ok(await mayRead(deferrals));
});

test('a large progress record stops the reading of a backlog, unless only further reading makes the record smaller', async () => {
  const { deferrals, own, defer } = deferralsOf(new MemoryBudget(1_000_000));
  own.progressBytes = ENGINE_LIMITS.maxOffsetBytes + 1;
  assert.ok(await mayRead(deferrals));
  defer();
  assert.ok(!(await mayRead(deferrals)));
});
