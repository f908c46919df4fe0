/** Spans of batches (docs/tracing.md). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_TRACER } from '../../../packages/client/src/base/tracing.ts';
import { World } from '../../support/engine/world.ts';
import { sourceValue } from '../../support/memory/service/scripted-kind.ts';
import type { RecordedSpan } from '../../support/memory/telemetry/recording-tracer.ts';

const MINUTE = 60_000;
const traceparent = (n: number) =>
  `00-${n.toString(16).padStart(32, '0')}-${n.toString(16).padStart(16, '0')}-01`;

/** Writes records of type a, each with its own trace context. */
function produceTraced(world: World, count: number): void {
  for (let n = 1; n <= count; n++) {
    world.put(0, sourceValue({ type: 'a', content: 'event of a' }), {
      headers: [['traceparent', traceparent(n)]],
    });
  }
}

const outcome = (span: RecordedSpan | undefined) => [
  span?.ended,
  span?.attributes['content_review.outcome'],
];

test('the span of a failed batch ends with the failure, and the next attempt links to it', async () => {
  const world = new World({
    partitions: 1,
    service: {
      review: ({ id }) => ({ afterMs: 100, state: id === 'batch-1' ? 'failed' : 'finished' }),
    },
  });
  const { tracer } = world.start();
  produceTraced(world, 5);
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  const [first, second] = tracer.batches;
  assert.equal(tracer.batches.length, 2);
  assert.deepEqual(outcome(first), ['batch_failed', 'batch_failed']);
  const failed = first?.events.find(({ name }) => name === 'failed');
  assert.deepEqual(failed?.attributes, {
    'error.type': 'batch_failed',
    'content_review.action': 'retry',
    'content_review.left': 5,
  });
  assert.deepEqual(outcome(second), ['ok', 'settled']);
  assert.equal(second?.attributes['content_review.attempt'], 2);
  assert.equal(second?.links[0]?.spanId, first?.ids.spanId);
  assert.equal(second?.links.length, 6);
});

test('a failed transaction is a step that ends with the failure of Kafka', async () => {
  let failing = true;
  const world = new World({
    partitions: 1,
    hooks: {
      commitFate: ({ transaction: { outputs } }) => {
        if (outputs === undefined || !failing) return 'commit';
        failing = false;
        return 'fenced';
      },
    },
  });
  const { tracer } = world.start();
  produceTraced(world, 5);
  await world.untilSettled(10 * MINUTE);
  const steps = tracer.batches.flatMap(({ steps }) => steps);
  assert.deepEqual(
    steps.flatMap(({ name, ended }) => (ended === 'ok' ? [] : [[name, ended]])),
    [
      ['download', 'fenced'],
      ['send decisions', 'fenced'],
    ],
  );
});

test('a shard that is given up ends its spans, and the next owner starts new spans without links', async () => {
  const world = new World({ partitions: 1, service: { review: () => ({ afterMs: 60_000 }) } });
  const first = world.start();
  produceTraced(world, 5);
  await world.clock.advance(20_000);
  await world.through(first.stop());
  assert.deepEqual(outcome(first.tracer.batches[0]), ['ok', 'handed_over']);
  const second = world.start();
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  const [span, ...more] = second.tracer.batches;
  assert.equal(more.length, 0);
  assert.deepEqual(outcome(span), ['ok', 'settled']);
  assert.equal(span?.attributes['content_review.recovered'], true);
  assert.equal(span?.attributes['content_review.batch'], world.decisions()[0]?.remote);
  assert.deepEqual(span?.links, []);
});

test('without tracing log lines have no trace id', async () => {
  const world = new World({ partitions: 1, wrap: (ports) => ({ ...ports, tracer: NO_TRACER }) });
  const { logger } = world.start();
  produceTraced(world, 5);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.ok(logger.lines.some(({ message }) => message === 'batch settled'));
  assert.ok(logger.lines.every(({ fields }) => !('trace_id' in fields)));
});
