import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Health } from '../../../src/telemetry/health.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';

describe('liveness', () => {
  let nowMs: number;
  let health: Health;
  beforeEach(() => {
    nowMs = 1_000;
    health = new Health({ stuckAfterMs: 30_000, now: () => nowMs });
  });

  it('succeeds until the threshold after the last progress, and fails afterwards', () => {
    health.beat('intake');
    nowMs += 30_000;
    assert.equal(health.liveness().ok, true);
    nowMs += 1;
    assert.deepEqual(health.liveness(), {
      ok: false,
      loops: [{ name: 'intake', state: 'stuck', seconds: 30.001 }],
    });
  });

  it('succeeds while a loop reports a wait, and shows its duration and reason', () => {
    health.beat('intake');
    nowMs += 5_000;
    health.waiting('intake', 'broker unreachable');
    nowMs += 86_400_000;
    health.waiting('intake', 'broker unreachable');
    assert.deepEqual(health.liveness(), {
      ok: true,
      loops: [{ name: 'intake', state: 'waiting', seconds: 86_400, reason: 'broker unreachable' }],
    });
  });

  it('fails if a wait with a deadline is overdue by the threshold', () => {
    health.waiting('tracker', 'next poll', 15_000);
    nowMs += 45_000;
    assert.equal(health.liveness().ok, true);
    nowMs += 1;
    assert.equal(health.liveness().loops[0]?.state, 'stuck');
  });

  it('fails for one stuck loop among healthy ones, and drops a loop that has ended', () => {
    health.beat('a');
    health.beat('b');
    nowMs += 31_000;
    health.beat('b');
    assert.deepEqual(
      health.liveness().loops.map(({ name, state }) => [name, state]),
      [
        ['a', 'stuck'],
        ['b', 'running'],
      ],
    );
    health.ended('a');
    assert.equal(health.liveness().ok, true);
  });
});

describe('readiness', () => {
  it('fails before anything was reported', () => {
    assert.deepEqual(new Health({ stuckAfterMs: 1 }).readiness(), {
      ok: false,
      conditions: [],
    });
  });

  it('succeeds if every condition is met, and otherwise shows the reasons', () => {
    const health = new Health({ stuckAfterMs: 1 });
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
  it('counts loops by state and contains each condition', async () => {
    let nowMs = 0;
    const health = new Health({ stuckAfterMs: 1_000, now: () => nowMs });
    const metrics = new PromMetrics({ version: '0', nodeMetrics: false });
    health.beat('a');
    health.waiting('b', 'x');
    health.ready('kafka');
    health.notReady('service', 'not reached yet');
    nowMs = 2_000;
    health.publish(metrics);
    const text = await metrics.render();
    assert.match(text, /content_review_loops\{state="running"\} 0/);
    assert.match(text, /content_review_loops\{state="waiting"\} 1/);
    assert.match(text, /content_review_loops\{state="stuck"\} 1/);
    assert.match(text, /content_review_ready\{condition="kafka"\} 1/);
    assert.match(text, /content_review_ready\{condition="service"\} 0/);
  });
});
