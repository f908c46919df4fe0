import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { ContractName } from '../../../../dev/contracts/contracts.ts';
import { DEAD_LETTER_HEADERS, deadLetter } from '../../../../src/core/outcome/dead-letter.ts';
import { assertContract } from '../../../support/contracts.ts';
import {
  contentItem,
  decisionOf,
  decisions,
  JOB,
  kindWithFile,
  referenceOf,
  sourceRecord,
} from './sample.ts';

const CONTRACTS = new URL('../../../../contracts/', import.meta.url);

async function json(path: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(new URL(path, CONTRACTS), 'utf8'));
}

/** Checks values against a published schema, and fails with what does not fit. */
async function validator(name: ContractName): Promise<(value: unknown) => void> {
  return (value) => assertContract(name, value);
}

test('decisions fit their schema, whatever the service answered', async () => {
  const check = await validator('decision');
  for (const includeContent of [true, false]) {
    const empty = { offset: 0, timestampMs: -1, key: null };
    const full = { offset: 2 ** 53 - 1, key: Buffer.from([0xff]), replay: 3, expected: 'ham' };
    const reference = referenceOf(empty, { includeContent });
    const bytes = referenceOf(full, { includeContent });
    const rows = [
      `x,SUCCESS,spam,ham,"[""a""]",${reference}`,
      `x,ERROR,,,,${reference}`,
      `x,ODD,spam,,a;b,${reference}`,
      `x,ODD,,,"[{""name"":""n"",""score"":1}]",${bytes}`,
    ];
    const header = 'Content,Status,Service result,Expected result,Labels,connector_ref';
    const file = `${[header, ...rows].join('\n')}\n`;
    const records = await decisions(kindWithFile(file));
    assert.equal(records.length, rows.length);
    for (const record of records) check(decisionOf(record));
  }
});

test('the decision of an item without a row fits the schema', async () => {
  const check = await validator('decision');
  const kind = kindWithFile('');
  const error = { code: 'attempts_exhausted', message: 'five attempts' };
  for (const item of [contentItem(), contentItem({ key: null, timestampMs: -1, replay: 1 })]) {
    check(decisionOf(kind.failure(item, error, { ...JOB, remoteId: '' })));
  }
});

test('the schema refuses a decision whose status and error disagree', async () => {
  const check = await validator('decision');
  const example = await json('examples/decision.json');
  assert.throws(() => check({ ...example, status: 'ERROR' }));
  assert.throws(() => check({ ...example, error: { code: 'x', message: 'y' } }));
  assert.throws(() => check({ ...example, labels: ['a'] }));
});

test('a content event is accepted by the schema exactly when the decoder accepts it', async () => {
  const check = await validator('content-event');
  const kind = kindWithFile('');
  for (const value of [
    { content: 'x', type: 't' },
    { content: 'x', type: 't', metadata: null, expected_result: null, other: 1 },
    { content: '', type: 't' },
    { content: 1, type: 't' },
    { content: 'x' },
    { content: 'x', type: '' },
    { content: 'x', type: 't', metadata: [] },
    { content: 'x', type: 't', expected_result: 1 },
    ['x'],
  ]) {
    let accepted = true;
    try {
      check(value);
    } catch {
      accepted = false;
    }
    assert.equal('item' in kind.decode(sourceRecord(value), 0), accepted, JSON.stringify(value));
  }
});

test('dead letters match their schema, which has every header that they add', async () => {
  const check = await validator('dead-letter');
  const context = { topic: 'events', stage: 'decode', replay: 1, maxValueBytes: 4 } as const;
  const poison = { reason: 'not_json', message: 'the value is not JSON' } as const;
  for (const record of [
    deadLetter(sourceRecord('too large'), poison, context),
    deadLetter({ partition: 0, offset: 1 }, poison, context),
  ]) {
    check(Object.fromEntries(record.headers ?? []));
  }
  const schema = await json('dead-letter.schema.json');
  assert.deepEqual(
    Object.keys(schema.properties as object).sort(),
    Object.values(DEAD_LETTER_HEADERS).sort(),
  );
});
