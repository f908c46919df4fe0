/** Dead letters by configuration: onRejectedType and onFailure. Tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import type { RecordPiece } from '../../../../src/core/ports/kafka.ts';
import { changed } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

/** Returns a world that rejects creates of type `bad` with this status while `refuses` returns true. */
function refusing(status: number, refuses: () => boolean, settings: WorldSettings = {}): World {
  return new World({
    partitions: 2,
    ...settings,
    options: {
      ...settings.options,
      review: { onRejectedType: 'dead-letter', ...settings.options?.review },
    },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        create: async (type, signal) => {
          if (type === 'bad' && refuses())
            throw new ServiceError('rejected', 'no such type', {
              operation: 'create_batch',
              status,
            });
          return ports.kind.create(type, signal);
        },
      }),
    }),
  });
}

test('a refusal that does not concern the type (405) delays its records, whatever the policy', async () => {
  let refuse = true;
  const world = refusing(405, () => refuse);
  const instance = world.start();
  world.produce(10, { types: ['bad'] });
  await world.clock.advance(MINUTE);
  assert.deepEqual(
    [world.published('dead').length, instance.gauge('shards_paused', { reason: 'type_blocked' })],
    [0, 1],
  );
  refuse = false;
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.decisions().length, 10);
});

test('one pass at a time rereads the records of all refused batches, which are published in full transactions', async () => {
  const count = { now: 0, most: 0, records: 0 };
  let transactions = 0;
  const world = new World({
    partitions: 1,
    options: { review: { onRejectedType: 'dead-letter' }, chunk: { maxRows: 50 } },
    hooks: {
      commitFate: ({ transaction: { outputs = [] } }) => {
        transactions += outputs.length;
        return 'commit';
      },
    },
    service: {
      fault: (operation) => (operation === 'create' ? { failure: 'rejected' } : undefined),
    },
    wrap: (ports) => ({
      ...ports,
      reader: changed(ports.reader, {
        read: async (range, onPiece, signal) => {
          count.most = Math.max(count.most, ++count.now);
          const counted = async (piece: RecordPiece) => {
            count.records += piece.records.length;
            await ports.clock.sleep(50, signal);
            await onPiece(piece);
          };
          await ports.reader.read(range, counted, signal).finally(() => count.now--);
        },
      }),
    }),
  });
  const instance = world.start();
  // The five records of each batch span 200 offsets.
  world.produce(2_000, { types: Array.from({ length: 40 }, (_, n) => `type ${n}`) });
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(count.most, 1);
  assert.ok(count.records <= 3 * 2_000, `${count.records} records reread for 2,000 dead letters`);
  assert.ok(transactions <= 200, `${transactions} transactions for 2,000 letters, at most 50 each`);
  assert.equal(instance.budget.usedBytes, 0);
});
