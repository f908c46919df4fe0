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

/** Records of type a with a context each. */
function produceTraced(world: World, count: number): void {
  for (let n = 1; n <= count; n++) {
    world.put(0, sourceValue({ type: 'a', content: 'event of a' }), {
      headers: [['traceparent', traceparent(n)]],
    });
  }
}

const names = (spans: readonly { readonly name: string }[]) => spans.map(({ name }) => name);
const outcome = (span: RecordedSpan | undefined) => [
  span?.ended,
  span?.attributes['content_review.outcome'],
];

test('a batch is one span from its seal to its last decision, with links to its items and a step for each call', async () => {
  const world = new World({ partitions: 1, options: { chunk: { maxRows: 3 } } });
  const { tracer, logger } = world.start();
  produceTraced(world, 5);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  const [span, ...more] = tracer.batches;
  assert.ok(span !== undefined && more.length === 0);
  assert.equal(span.name, 'process content');
  assert.deepEqual(outcome(span), ['ok', 'settled']);
  assert.deepEqual(
    span.links.map(({ spanId }) => Number.parseInt(spanId, 16)),
    [1, 2, 3, 4, 5],
  );
  const [decision] = world.decisions();
  const bytes = span.attributes['content_review.bytes'];
  assert.ok(typeof bytes === 'number' && bytes > 0);
  assert.deepEqual(span.attributes, {
    'messaging.system': 'kafka',
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': 'content',
    'messaging.consumer.group.name': 'reviewers',
    'messaging.batch.message_count': 5,
    'content_review.pipeline': 'reviews',
    'content_review.kind': 'scripted',
    'content_review.shard': 0,
    'content_review.type': 'a',
    'content_review.attempt': 1,
    'content_review.rows': 5,
    'content_review.bytes': bytes,
    'content_review.job': decision?.job,
    'content_review.batch': decision?.remote,
    'content_review.outcome': 'settled',
  });
  // Chunks of 3: the second is published after the download.
  assert.deepEqual(names(span.steps), [
    'create',
    'upload',
    'download',
    'send decisions',
    'send decisions',
  ]);
  assert.deepEqual([...new Set(span.steps.map(({ ended }) => ended))], ['ok']);
  assert.deepEqual(names(span.events).slice(0, 2), ['encoded', 'journaled']);
  assert.equal(span.events.at(-1)?.attributes['content_review.state'], 'finished');

  const lines = logger.lines.filter(({ fields }) => 'batch' in fields);
  assert.deepEqual(
    lines.map(({ message }) => message),
    ['batch created', 'batch settled'],
  );
  const { traceId: trace_id, spanId: span_id } = span.ids;
  const expected = { shard: 0, job: decision?.job, batch: decision?.remote, trace_id, span_id };
  for (const { fields } of lines) assert.deepEqual({ ...fields, ...expected }, fields);
});

test('a batch that fails ends its span with the failure, and the next attempt links to it', async () => {
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

test('a transaction that fails is a step that ends with the failure of Kafka', async () => {
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

test('a shard that is given up ends its spans; the next owner begins others without links', async () => {
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

test('without tracing nobody looks at headers, and log lines have no trace', async () => {
  const world = new World({ partitions: 1, wrap: (ports) => ({ ...ports, tracer: NO_TRACER }) });
  const { logger } = world.start();
  produceTraced(world, 5);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.ok(logger.lines.some(({ message }) => message === 'batch settled'));
  assert.ok(logger.lines.every(({ fields }) => !('trace_id' in fields)));
});
