/** Output and input formats of the command line: tables, ages, places, times. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ago,
  counted,
  instant,
  printable,
  printableJson,
  printableLines,
  table,
} from '../../../src/cli/text.ts';
import { pointInTime } from '../../../src/cli/tool-options.ts';

test('a table aligns texts to the left and numbers to the right, and truncates nothing', () => {
  const lines = table(
    ['NAME', 'COUNT', 'W'],
    [
      ['a', 1_234_567, '1234567'],
      ['longer than its head', 5, null],
    ],
  );
  assert.equal(
    lines,
    [
      'NAME                       COUNT         W',
      'a                      1,234,567   1234567',
      'longer than its head           5         -',
      '',
    ].join('\n'),
  );
  assert.equal(table(['A', 'B'], []), 'A   B\n');
});

test('an age has its two largest units, and is never negative', () => {
  const cases = [
    [0, '0s'],
    [999, '0s'],
    [42_000, '42s'],
    [190_000, '3m10s'],
    [3_600_000, '1h'],
    [3_601_000, '1h'],
    [2 * 86_400_000 + 4 * 3_600_000 + 59_000, '2d4h'],
    [-5_000, '0s'],
  ] as const;
  for (const [ms, text] of cases) assert.equal(ago(1_000_000_000 - ms, 1_000_000_000), text);
  assert.equal(instant(0), '1970-01-01T00:00:00.000Z');
  assert.equal(instant(1e16), '10000000000000000');
  assert.deepEqual(
    [counted(1, 'row'), counted(2_000, 'row'), counted(0, 'batch', 'batches')],
    ['1 row', '2,000 rows', '0 batches'],
  );
});

test('a time is ISO 8601, or an age', () => {
  assert.equal(pointInTime('2026-11-21T10:00:00Z'), Date.UTC(2026, 10, 21, 10));
  assert.equal(pointInTime('2026-11-21T10:00:00.5+02:00'), Date.UTC(2026, 10, 21, 8) + 500);
  assert.equal(pointInTime('2026-11-21'), Date.UTC(2026, 10, 21));
  const anHourAgo = pointInTime('1h');
  const hour = Date.now() - anHourAgo;
  assert.ok(hour >= 3_600_000 && hour < 3_660_000);
  for (const wrong of [
    'yesterday',
    '1',
    '2026',
    '2026-13-01',
    '2026-11-21 10:00',
    '1 fortnight',
    '',
  ])
    assert.throws(() => pointInTime(wrong), /ISO 8601/, wrong);
});

test('text of others does not control the terminal', () => {
  const hostile = 'a\u001b[2Jb\u009bc\rd\ne\u202ef\u2066g\u0085h\u2028i\u{e0041}é漢😀';
  assert.equal(
    printable(hostile),
    String.raw`a\u001b[2Jb\u009bc\u000dd\u000ae\u202ef\u2066g\u0085h\u2028i\udb40\udc41é漢😀`.replaceAll(
      '\\\\',
      '\\',
    ),
  );
  const json = printableJson(JSON.stringify({ hostile }));
  assert.match(json, /^[ -~é漢😀]+$/u);
  assert.deepEqual(JSON.parse(json), { hostile });
  assert.equal(printableLines('one\ntwo\u0007\n'), 'one\ntwo\\u0007\n');
  assert.equal(printable('😀'.repeat(201)), `${'😀'.repeat(200)}…`);
  assert.equal(printable('x'.repeat(200)), 'x'.repeat(200));
  assert.equal(table(['A'], [['x\ny\u001b']]), 'A\nx\\u000ay\\u001b\n');
});
