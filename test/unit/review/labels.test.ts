import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLabelReader, readLabels } from '../../../src/review/labels.ts';

const named = (name: string) => ({ name, applied: true, explanation: null });

test('labels are read in every likely form', () => {
  const cases: [cell: string, labels: unknown][] = [
    ['', []],
    ['  ', []],
    ['[]', []],
    ['null', []],
    ['["a","b"]', [named('a'), named('b')]],
    ['"a"', [named('a')]],
    ['{"name":"a","applied":false}', [{ name: 'a', applied: false, explanation: null }]],
    ['[{"name":"a"}]', [named('a')]],
    [
      '[{"name":"a","applied":true,"explanation":"why","score":0.5}]',
      [{ name: 'a', applied: true, explanation: 'why', score: 0.5 }],
    ],
    ['[{"name":"a","applied":"yes","explanation":7,"score":1}]', [{ name: 'a', applied: true, explanation: null, score: 1 }]],
  ];
  for (const [cell, labels] of cases) {
    const read = readLabels(cell);
    assert.deepEqual(JSON.parse(read.json), labels, cell);
    assert.equal(read.raw, undefined, cell);
  }
});

test('what is not JSON keeps its text, and delimited names become labels', () => {
  for (const cell of ['a;b', 'a, b', ' a|b ', 'a\nb']) {
    const read = readLabels(cell);
    assert.deepEqual(JSON.parse(read.json), [named('a'), named('b')], cell);
    assert.equal(read.raw, cell);
  }
  for (const cell of ["['a']", '{a: 1}', '[{"name":"a"', '7', '[[1]]', '{"a":1}']) {
    assert.deepEqual(readLabels(cell), { json: '[]', raw: cell });
  }
});

test('labels nested without end do no harm', () => {
  const deep = `[{"name":"a","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}]`;
  const read = readLabels(deep);
  assert.equal(read.json, '[]');
  assert.ok(read.raw === deep);
});

test('a reader that remembers answers as one that does not', () => {
  const read = createLabelReader();
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 1000; n++) assert.deepEqual(read(`["l${n}"]`), readLabels(`["l${n}"]`));
  }
});
