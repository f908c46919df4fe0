import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesWith } from '../../../dev/demo/cluster.ts';
import { importDemo } from '../../../dev/demo/import.ts';
import { lookupDemo } from '../../../dev/demo/lookup.ts';
import { demoPipeline } from '../../../dev/demo/pipeline.ts';
import { reviewDemo } from '../../../dev/demo/review.ts';
import { Screen } from '../../../dev/demo/screen.ts';
import { source } from './fixtures.ts';

const SANDBOX = { url: 'http://127.0.0.1:1', signal: new AbortController().signal };
const OUTCOME = {
  status: 'SUCCESS',
  error: null,
  decided_at: '2026-01-01T00:00:01.000Z',
  labels: [],
  batch: {},
  import_id: null,
};

function demoPipelines() {
  const { pipelines } = namesWith('');
  return [
    demoPipeline(reviewDemo, pipelines.review),
    demoPipeline(importDemo, pipelines.import),
    demoPipeline(lookupDemo, pipelines.lookup),
  ];
}

const METRICS = [
  'content_review_events_consumed_total{pipeline="review"} 100',
  'content_review_dead_lettered_total{pipeline="review",reason="not_json"} 2',
  'content_review_dead_lettered_total{pipeline="review",reason="no_type"} 1',
  'content_review_batch_rows_sum{pipeline="review"} 80',
  'content_review_decisions_total{pipeline="review",status="SUCCESS"} 30',
  'content_review_events_consumed_total{pipeline="import"} 7',
].join('\n');

test('each pipeline has its own counts', () => {
  const [review, imports, lookup] = demoPipelines().map((pipeline) => pipeline.counts(METRICS));
  assert.deepEqual([review?.name, review?.buffered, review?.atService], ['review', 17, 50]);
  assert.deepEqual([imports?.name, imports?.buffered, imports?.atService], ['import', 7, 0]);
  assert.deepEqual([lookup?.name, lookup?.buffered, lookup?.atService], ['lookup', 0, 0]);
});

test('each pipeline is judged, and its problems carry its name', async () => {
  for (const pipeline of demoPipelines()) {
    const { outcomes, source: topic } = pipeline.names;
    const value = Buffer.from(JSON.stringify({ ...OUTCOME, source: source(topic, 0, 7) }));
    pipeline.take({ topic: outcomes, key: null, value, headers: [] });
    pipeline.take({ topic: "another's", key: null, value, headers: [] });
    const { problems } = await pipeline.judge(new Screen(process.stdout), SANDBOX);
    assert.deepEqual(problems, [
      `${pipeline.name}: never produced: 1 record, at (partition-offset) 0-7`,
    ]);
  }
});
