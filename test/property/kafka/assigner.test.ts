import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  assignShards,
  decodeHistory,
  encodeHistory,
  type History,
  type Member,
  partitionsOfShards,
} from '../../../src/kafka/consumer/assigner.ts';

const history: fc.Arbitrary<History | undefined> = fc.option(
  fc.record(
    {
      generation: fc.integer({ min: 0, max: 5 }),
      shards: fc.uniqueArray(fc.integer({ min: 0, max: 80 })),
    },
    { noNullPrototype: true },
  ),
  { nil: undefined },
);
const members: fc.Arbitrary<Member[]> = fc.uniqueArray(
  fc.record({ id: fc.string({ minLength: 1 }), history }),
  {
    minLength: 1,
    maxLength: 12,
    selector: ({ id }) => id,
  },
);
const shardCount = fc.integer({ min: 0, max: 64 });

/** Returns the member with the best claim to a shard: the member with the latest generation, then the lowest id. */
function ownerBefore(all: readonly Member[], shard: number): string | undefined {
  const claims = all.filter((member) => member.history?.shards.includes(shard));
  claims.sort(
    (a, b) => (b.history?.generation ?? 0) - (a.history?.generation ?? 0) || (a.id < b.id ? -1 : 1),
  );
  return claims[0]?.id;
}

describe('assignShards', () => {
  it('gives every shard to exactly one member of the group', () => {
    fc.assert(
      fc.property(members, shardCount, (all, count) => {
        const given = [...assignShards(all, count).values()].flat().sort((a, b) => a - b);
        assert.deepEqual(
          given,
          Array.from({ length: count }, (_, shard) => shard),
        );
      }),
    );
  });

  it('gives members numbers of shards that differ by at most one', () => {
    fc.assert(
      fc.property(members, shardCount, (all, count) => {
        const sizes = [...assignShards(all, count).values()].map((shards) => shards.length);
        assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1);
      }),
    );
  });

  it('moves no more shards than necessary for the balance', () => {
    fc.assert(
      fc.property(members, shardCount, (all, count) => {
        const result = assignShards(all, count);
        const before = new Map(all.map(({ id }) => [id, 0]));
        let kept = 0;
        for (let shard = 0; shard < count; shard++) {
          const owner = ownerBefore(all, shard);
          if (owner === undefined) continue;
          before.set(owner, (before.get(owner) ?? 0) + 1);
          if (result.get(owner)?.includes(shard)) kept++;
        }
        // Best result of any balanced assignment: the largest owners get the larger quotas.
        const share = Math.floor(count / all.length);
        const larger = count % all.length;
        const sizes = [...before.values()].sort((a, b) => b - a);
        const best = sizes.reduce(
          (sum, size, rank) => sum + Math.min(size, share + (rank < larger ? 1 : 0)),
          0,
        );
        assert.equal(kept, best);
      }),
    );
  });

  it('prefers the later generation if two members claim a shard', () => {
    const sleeper = { id: 'a', history: { generation: 3, shards: [0] } };
    const owner = { id: 'b', history: { generation: 4, shards: [0] } };
    assert.deepEqual(
      assignShards([sleeper, owner], 2),
      new Map([
        ['a', [1]],
        ['b', [0]],
      ]),
    );
  });
});

describe('history of a member', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(history, (given) => {
        assert.deepEqual(decodeHistory(encodeHistory(given)), given);
      }),
    );
  });

  it('is undefined or well-formed for any JSON', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc
            .record({
              v: fc.constantFrom(1, 2, '1'),
              generation: fc.anything(),
              shards: fc.array(fc.anything()),
            })
            .map((value) =>
              JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one)),
            ),
        ),
        (text) => {
          const decoded = decodeHistory(Buffer.from(text));
          if (decoded === undefined) return;
          assert.ok(Number.isSafeInteger(decoded.generation));
          assert.ok(decoded.shards.every((shard) => Number.isSafeInteger(shard) && shard >= 0));
        },
      ),
    );
  });
});

describe('partitionsOfShards', () => {
  it('puts every source partition into the shard p mod K', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 0, max: 100 }),
        (count, sources) => {
          const all = Array.from({ length: count }, (_, shard) => shard);
          const map = partitionsOfShards(all, count, sources);
          assert.deepEqual([...map.keys()], all);
          for (const [shard, partitions] of map) {
            assert.deepEqual(
              partitions,
              Array.from({ length: sources }, (_, p) => p).filter((p) => p % count === shard),
            );
          }
        },
      ),
    );
  });
});
