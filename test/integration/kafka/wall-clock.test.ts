/** A member and a producer while the wall clock of their machine is set back and ahead. */
import assert from 'node:assert/strict';
import { after, describe, it, type TestContext } from 'node:test';
import { TransactionError } from '../../../src/core/ports/kafka.ts';
import { realWorld } from '../../conformance/kafka-real.ts';
import { numbered, RecordingListener, readSourceFrom } from '../../conformance/kafka-world.ts';
import { testKafka } from '../../support/kafka/kafka.ts';

const kafka = await testKafka();
const HOUR = 3_600_000;
/** Session timeout of the members of `realWorld`. */
const SESSION_MS = 6_000;

function step(t: TestContext, byMs: number): void {
  const { now } = Date;
  t.mock.method(Date, 'now', () => now() + byMs);
}

describe('a wall clock that is corrected', { concurrency: false }, () => {
  for (const byMs of [-8 * HOUR, 8 * HOUR]) {
    it(`by ${byMs / HOUR} h costs a member no session, and each confirmation is a request`, async (t) => {
      const world = await realWorld(kafka, { sourcePartitions: 1, shards: 1 });
      after(() => world.close());
      const group = world.group();
      const listener = new RecordingListener();
      readSourceFrom(group, listener, 0);
      await world.settle(group.start(listener));
      step(t, byMs);
      const steppedMs = performance.now();
      await world.settle(group.confirmMembership(new AbortController().signal));
      assert.ok(group.lastHeardMs() >= steppedMs, 'a heartbeat was sent after the step');
      await world.until(
        'heartbeats go on for longer than a session',
        () => group.lastHeardMs() > steppedMs + SESSION_MS + 1_000,
      );
      // The writer of the tests has the same clock, which the broker refuses.
      t.mock.restoreAll();
      await world.produce(world.topics.source, 0, numbered(0, 1));
      await world.until('it reads', () => listener.records('source', 0).length === 1);
      assert.deepEqual([listener.losses, listener.assignments.length], [[], 1]);
    });
  }

  it('by 2 h ahead fails transactions for a while, with the clock as the cause', async (t) => {
    const world = await realWorld(kafka, { sourcePartitions: 1, shards: 1 });
    after(() => world.close());
    const { journal } = world.topics;
    const admin = await kafka.admin();
    const configEntries = [{ name: 'message.timestamp.after.max.ms', value: String(HOUR) }];
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: 2, name: journal, configEntries }],
    });
    step(t, 2 * HOUR);
    const commit = () =>
      world
        .producers()
        .open(0)
        .commit({ journal: [{ key: 'k', value: 'v' }] });
    await assert.rejects(world.settle(commit()), (error) => {
      assert.ok(error instanceof TransactionError);
      assert.equal(error.failure, 'aborted');
      assert.match(error.message, /INVALID_TIMESTAMP: .*correct the clock/);
      return true;
    });
    t.mock.restoreAll();
    await world.settle(commit());
  });
});
