/** Checks for every kind whether `traceparent` and `tracestate` of a source record are copied to its output record. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { headerList } from '../../support/records/headers.ts';
import { publishedOf } from '../../support/review/published.ts';
import { parse } from '../config/problems-of.ts';

const EVENTS: Readonly<Record<string, object>> = {
  review: { content: 'hello', type: 'post' },
  import: { type: 'user', data: { id: 1 } },
  lookup: { content: 'decision-1' },
};
const CONTEXT = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=1,b=2',
};

async function published(
  kind: string,
  headers: Readonly<Record<string, string>>,
  output: object = {},
) {
  const config = {
    kafka: { brokers: ['broker:9092'] },
    service: { baseUrl: 'https://review.example', apiKey: 'k' },
    pipelines: [{ name: 'p', kind, source: { topic: 'events' }, output }],
  };
  const [pipeline] = parse(stringify(config)).pipelines;
  assert.ok(pipeline !== undefined);
  const value = kind === 'lookup' ? 'decision-1' : JSON.stringify(EVENTS[kind]);
  const sample = {
    value: Buffer.from(value),
    key: 'k',
    headers: headerList(headers),
  };
  const { headers: all = [] } = (await publishedOf(pipeline, sample)).record;
  const { 'event-id': _, ...rest } = Object.fromEntries(
    all.map(([name, text]) => [name, String(text)]),
  );
  return rest;
}

for (const kind of Object.keys(EVENTS)) {
  test(`${kind}: upload and output contain a record's trace headers only if output.headers lists them`, async () => {
    // Checking the output is enough, because the decision of a review is built from the upload alone.
    assert.deepEqual(await published(kind, CONTEXT), {});
    const named = { headers: ['tracestate'] };
    assert.deepEqual(await published(kind, CONTEXT, named), { tracestate: 'a=1,b=2' });
  });
}
