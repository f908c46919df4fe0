/** `review.resultColumn`, from the configuration to the uploaded file and the result file. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { publishedOf, RESULT } from '../../support/review/published.ts';
import { parse } from '../config/problems-of.ts';

test('the result is read from the column in review.resultColumn, and metadata of that name gets no column', async () => {
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
    const sample = { value, key: undefined, headers: [] };
    const { upload, record } = await publishedOf(pipeline, sample);
    assert.match(upload, /^Content,other,connector_ref\r\n/);
    const decision = JSON.parse(String(record.value));
    assert.deepEqual([decision.result, decision.metadata], [RESULT, metadata]);
  }
});
