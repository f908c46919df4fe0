import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DecisionWriter } from '../../../../src/kinds/review/decision-writer.ts';
import { headerList, headersAsBytes } from '../../../support/records/headers.ts';
import { contentItem, decisionOf, decisions, JOB, kindWithFile, referenceOf } from './sample.ts';

const DECISIONS = new DecisionWriter('events');

test('a decision has every documented field', async () => {
  const item = contentItem({
    content: 'hi',
    metadata: { lang: 'en' },
    expected: 'ham',
    replay: 2,
    headers: headerList({ trace: Buffer.from([0, 255]) }),
  });
  const reference = referenceOf(item, { includeContent: true });
  const kind = kindWithFile(
    'Content,Status,Service result,Expected result,Labels,lang,connector_ref\n' +
      'changed,SUCCESS,spam,no,"[{""name"":""a"",""applied"":false,""explanation"":""why""}]",de,' +
      `${reference}\n`,
  );
  const [record] = await decisions(kind);
  assert.deepEqual(decisionOf(record), {
    id: 'events-3-41#2',
    status: 'SUCCESS',
    result: 'spam',
    expected_result: 'ham',
    labels: [{ name: 'a', applied: false, explanation: 'why' }],
    metadata: { lang: 'en' },
    content: 'hi',
    error: null,
    batch: { id: 'batch-1', type: 'post', attempt: 1 },
    source: {
      topic: 'events',
      partition: 3,
      offset: 41,
      key: 'user-1',
      timestamp: '2026-01-01T00:00:00.000Z',
    },
    decided_at: '2026-01-02T03:04:05.678Z',
  });
  assert.equal(String(record?.key), 'user-1');
  const headers = headerList({ trace: Buffer.from([0, 255]), 'event-id': 'events-3-41#2' });
  assert.deepEqual(headersAsBytes(record?.headers ?? []), headersAsBytes(headers));
});

test('an item without a row gets an ERROR decision with its own metadata, key and headers', () => {
  const travelling = {
    trace: [Buffer.from('t'), null, Buffer.from('t')],
    toString: Buffer.from('x'),
  };
  const item = contentItem({
    key: Buffer.from([255]),
    headers: headerList({ ...travelling, 'event-id': [Buffer.from('of the source'), null] }),
    metadata: { n: 1, s: '' },
    expected: 'ham',
    timestampMs: -1,
  });
  const error = { code: 'review_timeout', message: 'too late' };
  const record = DECISIONS.failure(item, error, { ...JOB, remoteId: '' }, { includeContent: true });
  const value = decisionOf(record);
  assert.equal(value.status, 'ERROR');
  assert.deepEqual(value.error, { code: 'review_timeout', message: 'too late' });
  assert.equal(value.expected_result, 'ham');
  assert.deepEqual(value.metadata, { n: 1, s: '' });
  assert.equal(value.content, 'hello');
  assert.deepEqual(value.batch, { id: null, type: 'post', attempt: 1 });
  assert.deepEqual(value.source, {
    topic: 'events',
    partition: 3,
    offset: 41,
    key: '/w==',
    key_encoding: 'base64',
    timestamp: null,
  });
  assert.deepEqual(record.key, Buffer.from([255]));
  assert.deepEqual(
    headersAsBytes(record.headers ?? []),
    headersAsBytes(headerList({ ...travelling, 'event-id': 'events-3-41' })),
  );
});

test('a decision contains the content only if configured', () => {
  const error = { code: 'x', message: 'y' };
  for (const includeContent of [false, true]) {
    const record = DECISIONS.failure(contentItem(), error, JOB, { includeContent });
    assert.equal('content' in decisionOf(record), includeContent);
  }
});
