/** `review.resultColumn`, from the configuration to the file that goes up and the one that comes back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { INVENTED_RESULT, trySample } from '../../../src/app/tools/sample.ts';
import { parse } from '../config/problems-of.ts';

test('the column that review.resultColumn names holds the result, and metadata of that name has no column', async () => {
  for (const resultColumn of ['Decision', 'Decision, "final"']) {
    const config = {
      kafka: { brokers: ['broker:9092'] },
      service: { baseUrl: 'https://review.example', apiKey: 'k' },
      pipelines: [{ name: 'p', source: { topic: 'events' }, review: { resultColumn } }],
    };
    const [pipeline] = parse(stringify(config)).pipelines;
    assert.ok(pipeline !== undefined);
    const metadata = { [resultColumn.toLowerCase()]: 'mine', other: 'x' };
    const value = Buffer.from(JSON.stringify({ content: 'hello', type: 'post', metadata }));
    const { result } = await trySample(pipeline, {
      value,
      key: undefined,
      headers: [],
      timestampMs: 0,
    });
    assert.ok(result.outcome === 'accepted', JSON.stringify(result));
    assert.match(result.upload, /^Content,other,connector_ref\r\n/);
    const decision = JSON.parse(result.published.value);
    assert.deepEqual([decision.result, decision.metadata], [INVENTED_RESULT, metadata]);
  }
});
