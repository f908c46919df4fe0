import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contractProblem } from '../../../support/contracts.ts';
import { kindWithFile, sourceRecord } from './sample.ts';

test('the schema accepts a content event exactly if the decoder accepts it', () => {
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
    const accepted = contractProblem('content-event', value) === undefined;
    assert.equal('item' in kind.decode(sourceRecord(value), 0), accepted, JSON.stringify(value));
  }
});
