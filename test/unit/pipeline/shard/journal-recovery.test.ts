import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeMeta, writeOwner } from '../../../../src/core/journal/journal-records.ts';
import type {
  FetchedBatch,
  JournalWrite,
  ShardGroup,
  UnreadableRecords,
} from '../../../../src/core/ports/kafka.ts';
import { ShardLostError } from '../../../../src/pipeline/context/errors.ts';
import { JournalRecovery } from '../../../../src/pipeline/shard/journal-recovery.ts';
import { VirtualClock } from '../../../support/memory/clock.ts';
import { memoryBatch } from '../../../support/memory/kafka/pieces.ts';
import { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';

const SHARD = 3;
const meta = writeMeta({ group: 'g', source: 's', shards: 4, kind: 'k' });
const owner = (claim: string) => writeOwner({ instance: 'i', claim, atMs: 1 });
const forever = new AbortController().signal;

/** Returns a recovery with scripted fetches. */
function world() {
  const clock = new VirtualClock();
  const calls: string[] = [];
  const group = {
    seek: (stream: string, partition: number, offset: number) =>
      calls.push(`seek ${stream} ${partition} ${offset}`),
    pause: (stream: string, partition: number) => calls.push(`pause ${stream} ${partition}`),
    resume: (stream: string, partition: number) => calls.push(`resume ${stream} ${partition}`),
  } as Partial<ShardGroup> as ShardGroup;
  const logger = new RecordingLogger();
  const replay = new JournalRecovery({ group, clock, logger, topic: 'journal', shard: SHARD });
  const batch = (
    fetchOffset: number,
    writes: readonly JournalWrite[],
    nextOffset = fetchOffset + writes.length,
    unreadable?: UnreadableRecords,
  ): FetchedBatch => {
    const fields = {
      stream: 'journal',
      partition: SHARD,
      fetchOffset,
      nextOffset,
      endOffset: nextOffset,
      bytes: 1,
    } as const;
    const records = writes.map(({ key, value }, index) => ({
      partition: SHARD,
      offset: fetchOffset + index,
      timestampMs: 0,
      key: Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      headers: [],
    }));
    return memoryBatch(fields, [{ records, unreadable, nextOffset }]);
  };
  return { clock, calls, replay, batch, logger };
}

test('a fetched batch for another position is dropped, and the position is set again', async () => {
  const { replay, calls, batch } = world();
  replay.start(0);
  calls.length = 0;
  replay.fetched(batch(40, [owner('other')]));
  assert.deepEqual(calls, [`seek journal ${SHARD} 0`]);
  const state = replay.upTo(1, 'mine', forever);
  replay.fetched(batch(0, [meta, owner('mine')]));
  assert.deepEqual([(await state).owner?.claim, (await state).meta?.kind], ['mine', 'k']);
});

test('fetching pauses while recovery is slower, and a rejoin in that time reads no record twice', async () => {
  const { replay, calls, batch } = world();
  const gate = Promise.withResolvers<void>();
  const large = (offset: number, writes: readonly JournalWrite[]): FetchedBatch => {
    const whole = batch(offset, writes);
    return {
      ...whole,
      bytes: 600_000,
      async *pieces(reserve) {
        await gate.promise;
        yield* whole.pieces(reserve);
      },
    };
  };
  replay.start(0);
  replay.fetched(large(0, [meta]));
  replay.fetched(large(1, [owner('old')]));
  assert.deepEqual(calls.splice(0), [
    `seek journal ${SHARD} 0`,
    `resume journal ${SHARD}`,
    `pause journal ${SHARD}`,
  ]);
  replay.rejoined();
  assert.deepEqual(calls.splice(0), [`seek journal ${SHARD} 2`, `resume journal ${SHARD}`]);
  const state = replay.upTo(2, 'mine', forever);
  gate.resolve();
  replay.fetched(batch(2, [owner('mine')]));
  assert.equal((await state).owner?.claim, 'mine');
  assert.deepEqual(calls, [`pause journal ${SHARD}`, `resume journal ${SHARD}`]);
});

test('an unreadable range of the journal ends the recovery with its topic, partition and offset', async () => {
  const { replay, batch } = world();
  replay.start(0);
  const poison = { reason: 'unreadable_batch', message: 'its CRC-32C is wrong' } as const;
  replay.fetched(batch(0, [meta], 5, { from: 1, to: 4, timestampMs: 0, poison }));
  await assert.rejects(replay.upTo(9, 'mine', forever), {
    name: 'JournalFormatError',
    message: `the journal journal cannot be read at partition ${SHARD}, offset 1: its CRC-32C is wrong`,
  });
});

test('a record after our claim means that another instance owns the shard', async () => {
  const { replay, batch } = world();
  replay.start(0);
  const state = replay.upTo(1, 'mine', forever);
  replay.fetched(batch(0, [meta, owner('mine'), owner('theirs')]));
  await assert.rejects(
    state,
    (error) => error instanceof ShardLostError && /continues after this claim/.test(error.message),
  );
});

test('a record of another owner in place of our claim means that the shard is lost', async () => {
  const { replay, batch } = world();
  replay.start(0);
  const state = replay.upTo(1, 'mine', forever);
  replay.fetched(batch(0, [meta, owner('theirs')]));
  await assert.rejects(
    state,
    (error) =>
      error instanceof ShardLostError && /the journal has a newer claim/.test(error.message),
  );
});

test('a recovery that reads nothing for a minute fails, and one that reads slowly does not', async () => {
  const { replay, clock, batch } = world();
  replay.start(0);
  const state = replay.upTo(100, 'mine', forever);
  const failures: unknown[] = [];
  state.catch((error: unknown) => failures.push(error));
  for (let at = 0; at < 5; at++) {
    await clock.advance(59_000);
    replay.fetched(batch(at, [owner(`o${at}`)]));
    await clock.settle();
  }
  assert.deepEqual(failures, []);
  await clock.advance(60_000);
  assert.match(
    String(failures),
    /^ShardLostError: the journal could not be read further than offset 5$/,
  );
});

test('an aborted recovery ends at once with the reason', async () => {
  const { replay } = world();
  const abort = new AbortController();
  replay.start(0);
  const state = replay.upTo(5, 'mine', abort.signal);
  const reason = new Error('the connector is stopping');
  abort.abort(reason);
  await assert.rejects(state, reason);
  await assert.rejects(replay.meta(5, abort.signal), reason);
});
