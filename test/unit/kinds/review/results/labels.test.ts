import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLabels } from '../../../../../packages/client/src/results/labels.ts';

const named = (name: string) => ({ name, applied: true, explanation: null });

test('labels are read in every likely format', () => {
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
    [
      '[{"name":"a","applied":"yes","explanation":7,"score":1}]',
      [{ name: 'a', applied: true, explanation: null, score: 1 }],
    ],
  ];
  for (const [cell, labels] of cases) {
    const read = readLabels(cell);
    assert.deepEqual(JSON.parse(read.json), labels, cell);
    assert.equal(read.raw, undefined, cell);
  }
});

test('the value of applied is recognized in any likely spelling', () => {
  const cases: [applied: string, reads: boolean | undefined][] = [
    ['true', true],
    ['"True"', true],
    ['" yes "', true],
    ['1', true],
    ['"1"', true],
    ['false', false],
    ['"False"', false],
    ['"no"', false],
    ['0', false],
    ['"0"', false],
    ['null', undefined],
    ['""', undefined],
    ['"perhaps"', undefined],
    ['0.5', undefined],
    ['[]', undefined],
    ['{}', undefined],
  ];
  for (const [applied, reads] of cases) {
    const cell = `[{"name":"a"},{"name":"b","applied":${applied}}]`;
    const { json, raw } = readLabels(cell);
    const b = { name: 'b', applied: reads, explanation: null };
    assert.deepEqual(JSON.parse(json), reads === undefined ? [] : [named('a'), b], cell);
    assert.equal(raw, reads === undefined ? cell : undefined, cell);
  }
});

test('placeholders for missing values and JSON within JSON do not become labels', () => {
  const list = '[{"name":"a","applied":true,"explanation":"b"}]';
  for (const cell of [
    'None',
    ' nan ',
    'NaN',
    'N/A',
    '"None"',
    '["None"]',
    '[{"name":"nan"}]',
    JSON.stringify(list),
    `[${JSON.stringify(list)}]`,
  ])
    assert.deepEqual(readLabels(cell), { json: '[]', raw: cell });
  assert.deepEqual(JSON.parse(readLabels('["[spam]"]').json), [named('[spam]')]);
});

test('a cell that is not JSON is kept as a string, and delimited names become labels', () => {
  for (const cell of ['a;b', 'a, b', ' a|b ', 'a\nb']) {
    const read = readLabels(cell);
    assert.deepEqual(JSON.parse(read.json), [named('a'), named('b')], cell);
    assert.equal(read.raw, cell);
  }
  const several: [cell: string, names: string[]][] = [
    [' very loud ', ['very loud']],
    ['money; shouting, loud', ['money', 'shouting, loud']],
    ['money | shouting, loud', ['money', 'shouting, loud']],
    ['a|b; c', ['a|b', 'c']],
    ['a, b\r\nc; d\n', ['a, b', 'c; d']],
  ];
  for (const [cell, names] of several)
    assert.deepEqual(JSON.parse(readLabels(cell).json), names.map(named), cell);
  for (const cell of [
    "['a']",
    '{a: 1}',
    '[{"name":"a"',
    '7',
    '[[1]]',
    '{"a":1}',
    '{"a":true,"b":false}',
    '{}',
    '[{"a":true}]',
  ]) {
    assert.deepEqual(readLabels(cell), { json: '[]', raw: cell });
  }
});

test('a cell with more than 10,000 labels is kept only as a string', () => {
  for (const separator of [',', ';', '\n', '","'])
    for (const [count, isRead] of [
      [10_000, true],
      [10_001, false],
    ] as const) {
      const list = Array.from({ length: count }, () => 'a').join(separator);
      const cell = separator === '","' ? `["${list}"]` : list;
      const { json, raw } = readLabels(cell);
      assert.equal(JSON.parse(json).length, isRead ? count : 0, separator);
      if (!isRead) assert.equal(raw, cell);
    }
});
