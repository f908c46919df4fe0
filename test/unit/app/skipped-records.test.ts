/** Tests which records the configuration skips, in the engine and in the tools. The tools work without a registry. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspectedPipeline } from '../../../src/app/tools/inspect.ts';
import { unconnectedKind } from '../../../src/app/tools/sample.ts';
import type { SourceRecord } from '../../../src/core/record.ts';
import { jsonFormat } from '../../../src/events/format.ts';
import { parse } from '../config/problems-of.ts';

/** Keys at 3.6 % and 29.1 % of all samples. */
const [INSIDE, OUTSIDE] = ['user-7', '\u00e9'];

function pipelineOf(source: string, kind = 'review') {
  const config = parse(`
kafka: {brokers: [broker:9092]}
service: {baseUrl: "https://review.example", apiKey: key-1}
schemaRegistry: {urls: ["http://registry.example"]}
pipelines: [{name: posts, kind: ${kind}, source: {topic: events, ${source}}}]
`);
  const [pipeline] = config.pipelines;
  assert.ok(pipeline !== undefined);
  return { pipeline, isSkipped: inspectedPipeline(config, pipeline).isSkipped };
}

const recordOf = (key: string, value: string | null): SourceRecord => ({
  ...{ partition: 0, offset: 0, timestampMs: 0, headers: [] },
  key: Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
});

const EVENT = JSON.stringify({ type: 'post', content: 'hello', data: {} });

for (const kind of ['review', 'import', 'lookup']) {
  test(`${kind}: a record outside the sample is skipped before it is decoded, unless it was accepted before`, () => {
    const kindOf = unconnectedKind(pipelineOf('sample: 10 %', kind).pipeline, jsonFormat);
    for (const value of [EVENT, 'not JSON', null]) {
      assert.deepEqual(kindOf.decode(recordOf(OUTSIDE, value), 0), { skip: 'sample' });
      assert.equal(kindOf.isOutsideSample?.(recordOf(OUTSIDE, value)), true);
      assert.equal(kindOf.isOutsideSample?.(recordOf(INSIDE, value)), false);
    }
    assert.ok('poison' in kindOf.decode(recordOf(INSIDE, null), 0));
    assert.ok('item' in kindOf.decode(recordOf(OUTSIDE, EVENT), 0, { type: 'post' }));
  });
}

test('a sample of 100 % needs no hash', () => {
  const kind = unconnectedKind(pipelineOf('sample: 100 %').pipeline, jsonFormat);
  assert.equal(kind.isOutsideSample, undefined);
  assert.ok('item' in kind.decode(recordOf(OUTSIDE, EVENT), 0));
});

test('the tools know which records the sample, the filter and null values skip', () => {
  const skipped = (source: string) => {
    const { isSkipped } = pipelineOf(source);
    const records = [
      recordOf(OUTSIDE, EVENT),
      recordOf(INSIDE, EVENT),
      recordOf(INSIDE, 'not JSON'),
      recordOf(INSIDE, null),
    ];
    return records.map(isSkipped);
  };
  assert.deepEqual(skipped(''), [false, false, false, false]);
  assert.deepEqual(skipped('sample: 10 %'), [true, false, false, false]);
  assert.deepEqual(skipped("filter: type == 'a'"), [true, true, false, false]);
  assert.deepEqual(skipped('nullValues: skip'), [false, false, false, true]);
});

test('without a schema registry, only the filter is unknown', () => {
  const skipped = (source: string) => {
    const { isSkipped } = pipelineOf(`format: avro, ${source}`);
    const records = [recordOf(OUTSIDE, 'x'), recordOf(INSIDE, 'x'), recordOf(INSIDE, null)];
    return records.map(isSkipped);
  };
  assert.deepEqual(skipped(''), [false, false, false]);
  assert.deepEqual(skipped('sample: 10 %'), [true, false, false]);
  assert.deepEqual(skipped('nullValues: skip'), [false, false, true]);
  assert.deepEqual(skipped("filter: type == 'a'"), [undefined, undefined, false]);
  const all = "sample: 10 %, nullValues: skip, filter: type == 'a'";
  assert.deepEqual(skipped(all), [true, undefined, true]);
});
