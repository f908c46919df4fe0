/** Pacers of several replicas between which the shards move. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CallPacer } from '../../../src/pipeline/limits/call-pacer.ts';
import { VirtualClock } from '../../support/memory/clock.ts';

const SECOND = 1_000;
const REPLICAS = 3;
const NEVER = new AbortController().signal;

/** A replica with more work than the rate allows. */
class Replica {
  readonly pacer: CallPacer;
  readonly calls: number[] = [];

  constructor(perSecond: number, clock: VirtualClock) {
    this.pacer = new CallPacer(perSecond, clock);
    void this.#work(clock);
  }

  async #work(clock: VirtualClock): Promise<void> {
    for (;;) {
      await this.pacer.turn(NEVER);
      this.calls.push(clock.monotonic());
    }
  }
}

test('in any second, all replicas together make at most the rate plus one call per shard, and nearly the rate if no shard moves', async () => {
  const move = fc.record({
    afterMs: fc.oneof(fc.nat({ max: 200 }), fc.nat({ max: 3 * SECOND })),
    shard: fc.nat(),
    to: fc.nat({ max: REPLICAS - 1 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 5 }),
      fc.array(move, { maxLength: 20 }),
      async (perSecond, shards, moves) => {
        const clock = new VirtualClock();
        const replicas = Array.from({ length: REPLICAS }, () => new Replica(perSecond, clock));
        const owners = Array.from({ length: shards }, () => new AbortController());
        const claim = (shard: number, to: number) => {
          owners[shard]?.abort();
          const owner = new AbortController();
          owners[shard] = owner;
          replicas[to]?.pacer.claimed(1 / shards, owner.signal);
        };
        for (let shard = 0; shard < shards; shard++) claim(shard, shard % REPLICAS);
        for (const { afterMs, shard, to } of moves) {
          await clock.advance(afterMs);
          claim(shard % shards, to);
        }
        const movedMs = clock.monotonic();
        await clock.advance(10 * SECOND);
        const calls = replicas.flatMap((replica) => replica.calls).sort((a, b) => a - b);
        for (const fromMs of calls) {
          const within = calls.filter((atMs) => atMs >= fromMs && atMs < fromMs + SECOND).length;
          assert.ok(within <= perSecond + shards, `${within} calls in the second from ${fromMs}`);
        }
        const since = calls.filter((atMs) => atMs > movedMs).length;
        assert.ok(since >= 0.9 * 10 * perSecond - shards, `${since} calls in 10 s`);
      },
    ),
    { numRuns: 60 },
  );
});

test('a replica without shards makes no call, and the first one after a claim waits for an interval', async () => {
  const clock = new VirtualClock();
  const { pacer, calls } = new Replica(2, clock);
  await clock.advance(10 * SECOND);
  assert.deepEqual([calls, pacer.isDelaying], [[], true]);
  const owner = new AbortController();
  const startedMs = clock.monotonic();
  pacer.claimed(0.5, owner.signal);
  await clock.advance(3 * SECOND);
  assert.deepEqual(
    calls.map((atMs) => atMs - startedMs),
    [1_000, 2_000, 3_000],
  );
  owner.abort();
  await clock.advance(10 * SECOND);
  assert.equal(calls.length, 3);
});

test('an aborted call leaves the queue, and the other calls keep their order', async () => {
  const clock = new VirtualClock();
  const pacer = new CallPacer(1, clock);
  pacer.claimed(1, NEVER);
  const order: string[] = [];
  const leaves = new AbortController();
  const aborted = pacer.turn(leaves.signal).catch(() => order.push('aborted'));
  const first = pacer.turn(NEVER).then(() => order.push('first'));
  const second = pacer.turn(NEVER).then(() => order.push('second'));
  leaves.abort();
  await clock.advance(2 * SECOND);
  await Promise.all([aborted, first, second]);
  assert.deepEqual(order, ['aborted', 'first', 'second']);
});

test('a shard that moves through several replicas does not carry over unused calls of a replica', async () => {
  const clock = new VirtualClock();
  const pacers = Array.from({ length: REPLICAS }, () => new CallPacer(1, clock));
  for (const pacer of pacers) {
    const owner = new AbortController();
    pacer.claimed(1, owner.signal);
    await clock.advance(5 * SECOND);
    owner.abort();
  }
  let calls = 0;
  for (const pacer of pacers) {
    const owner = new AbortController();
    pacer.claimed(1, owner.signal);
    void pacer.turn(NEVER).then(() => calls++);
    await clock.advance(300);
    owner.abort();
  }
  assert.equal(calls, 0);
});
