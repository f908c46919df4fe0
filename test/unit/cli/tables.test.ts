/** Input formats of the command line, and foreign strings in its output. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  printable,
  printableJson,
  printableLines,
  table,
} from '../../../packages/client/src/cli/text.ts';
import { coordinate, letterReason, pointInTime, several } from '../../../src/cli/tool-options.ts';

test('a record is written as PARTITION:OFFSET only', () => {
  assert.deepEqual(coordinate('2:1371'), { partition: 2, offset: 1371 });
  for (const wrong of [
    '2',
    '2-1',
    '2:',
    ':1',
    '-1:2',
    '1:2:3',
    '1: 2',
    '1:1e3',
    `1:${'9'.repeat(17)}`,
    '',
  ])
    assert.throws(() => coordinate(wrong), /PARTITION:OFFSET/, wrong);
});

test('a time is written in ISO 8601 or as an age', () => {
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

test('an unknown reason is refused, and the error lists the known reasons', () => {
  assert.deepEqual(several(letterReason)('not_json', ['no_type']), ['no_type', 'not_json']);
  assert.throws(() => letterReason('not-jsn'), /The reason must be one of .*not_json/);
  assert.throws(() => letterReason('whatever'), /The reason must be one of null_value, not_json, /);
});

test('foreign text cannot control the terminal', () => {
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
