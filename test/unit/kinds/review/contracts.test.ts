import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { ContractName } from '../../../../dev/contracts/contracts.ts';
import { assertContract } from '../../../support/contracts.ts';
import { decisionOf, decisions, kindWithFile, referenceOf, sourceRecord } from './sample.ts';

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
