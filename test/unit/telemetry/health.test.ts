import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Health } from '../../../src/telemetry/health.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';

describe('liveness', () => {
  it('fails while a transaction is overdue, and names its shard', () => {
    let nowMs = 1_000;
    const health = new Health(() => nowMs);
    const ends = ['a', 'b'].map((shard, n) => health.transaction(shard, 30_000 * (n + 1)));
    nowMs += 30_000;
    assert.deepEqual(health.liveness(), { ok: true, stuck: [] });
    nowMs += 1;
    assert.deepEqual(health.liveness(), { ok: false, stuck: [{ shard: 'a', seconds: 30 }] });
    ends[0]?.();
    assert.equal(health.liveness().ok, true);
  });
});

describe('readiness', () => {
  it('fails before anything was reported', () => {
    assert.deepEqual(new Health().readiness(), {
      ok: false,
      conditions: [],
    });
  });

  it('succeeds if every condition is met, and otherwise shows the reasons', () => {
    const health = new Health();
    health.notReady('kafka', 'no broker answers');
    health.ready('service');
    assert.deepEqual(health.readiness(), {
      ok: false,
      conditions: [
        { name: 'kafka', ready: false, reason: 'no broker answers' },
        { name: 'service', ready: true },
      ],
    });
    health.ready('kafka');
    assert.equal(health.readiness().ok, true);
    health.notReady('service', '401');
    assert.equal(health.readiness().ok, false);
    health.ready('service');
    assert.equal(health.readiness().ok, true);
  });
});

describe('health in the metrics', () => {
  it('counts stuck transactions and contains each condition', async () => {
    let nowMs = 0;
    const health = new Health(() => nowMs);
    const metrics = new PromMetrics({ version: '0', nodeMetrics: false });
    health.transaction('a', 1_000);
    health.transaction('b', 3_000);
    health.ready('kafka');
    health.notReady('service', 'not reached yet');
    nowMs = 2_000;
    health.publish(metrics);
    const text = await metrics.render();
    assert.match(text, /content_review_transactions_stuck 1/);
    assert.match(text, /content_review_ready\{condition="kafka"\} 1/);
    assert.match(text, /content_review_ready\{condition="service"\} 0/);
  });
});
