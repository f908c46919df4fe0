import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longestSilences } from '../../../dev/cluster/silence.ts';

const steps = [
  { title: 'calm', fromMs: 0 },
  { title: 'restart', fromMs: 1_000 },
  { title: 'drain', fromMs: 5_000 },
];

test('the longest pause of any partition counts for the step in which it ended', () => {
  const decided = [
    [100, 300, 4_000, 4_100, 5_200],
    [5_100, 900, 100, 1_500],
  ];
  assert.deepEqual(
    [...longestSilences(steps, decided)],
    [
      ['calm', 800],
      ['restart', 3_700],
      ['drain', 3_600],
    ],
  );
});

test('a step without decisions has no pause', () => {
  assert.deepEqual([...longestSilences(steps, [[], [6_000, 6_500]])], [['drain', 500]]);
});
