import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { type Counts, drawProgress, Screen, table } from '../../../dev/demo/screen.ts';

function output(terminal: { readonly columns: number } | undefined, type = 'xterm') {
  const stream = new PassThrough() as unknown as NodeJS.WriteStream & PassThrough;
  Object.assign(
    stream,
    terminal === undefined ? {} : { ...terminal, isTTY: true, getColorDepth: () => 4 },
  );
  const text = () => {
    let all = '';
    for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) all += String(chunk);
    return all;
  };
  return { screen: new Screen(stream, type), text };
}

test('at a terminal a block is redrawn in place, with permanent lines above it', () => {
  const { screen, text } = output({ columns: 100 });
  screen.draw(['one', 'two'], 'plain');
  assert.equal(text(), 'one\ntwo\n');
  screen.draw(['1', '2'], 'plain');
  assert.equal(text(), '\r\u001b[2A\u001b[0J1\n2\n');
  screen.print('stays');
  assert.equal(text(), '\r\u001b[2A\u001b[0Jstays\n1\n2\n');
  screen.draw(['last'], 'plain', { last: true });
  assert.equal(text(), '\r\u001b[2A\u001b[0Jlast\n');
  screen.print('below');
  assert.equal(text(), 'below\n');
});

test('without a terminal, or with a narrow or dumb one, there are plain lines, at most one a second and none twice', () => {
  for (const [terminal, type] of [
    [undefined, 'xterm'],
    [{ columns: 40 }, 'xterm'],
    [{ columns: 100 }, 'dumb'],
  ] as const) {
    const { screen, text } = output(terminal, type);
    screen.draw(['block'], 'first');
    screen.draw(['block'], 'too soon');
    screen.draw(['block'], 'last', { last: true });
    screen.draw(['block'], 'last', { last: true });
    assert.equal(text(), 'first\nlast\n');
  }
});

test('a table is aligned, and no wider than the screen', () => {
  const { screen } = output({ columns: 40 });
  const rows = [
    [{ text: 'a' }, { text: 'x'.repeat(50) }, { text: 'y'.repeat(50) }],
    [{ text: 'bbb' }, { text: 'short' }, { text: '' }],
  ];
  const [head = '', first = '', second = ''] = table(screen, ['id', 'labels', 'text'], rows, 2).map(
    plain,
  );
  assert.deepEqual([head.indexOf('labels'), second.indexOf('short')], [7, 7]);
  assert.match(first, /^ {2}a {4}x+\.\.\. {2}y+\.\.\.$/);
  assert.ok(first.length < 40, first);
});

const COUNTS: readonly Counts[] = [
  {
    name: 'review',
    total: 2_010,
    produced: 2_010,
    buffered: 10,
    atService: 990,
    published: 1_000,
    deadLettered: 10,
  },
  {
    name: 'import',
    total: 1_000,
    produced: 500,
    buffered: 0,
    atService: 0,
    published: 0,
    deadLettered: 0,
  },
  {
    name: 'lookup',
    total: 100,
    produced: 0,
    buffered: 0,
    atService: 0,
    published: 0,
    deadLettered: 0,
  },
];

test('progress fits into 80 columns: the counts of each pipeline, and a bar of finished records and those in flight', () => {
  const { screen, text } = output({ columns: 80 });
  drawProgress(screen, COUNTS, 4_200);
  const lines = plain(text()).split('\n');
  assert.deepEqual(lines, [
    '   4.2 s   produced  buffered  at service  published  dead letters',
    '  review      2,010        10         990      1,000            10  ━━━━━━─────',
    '  import        500         0           0          0             0  ······',
    '  lookup          0         0           0          0             0',
    '',
  ]);
  for (const line of lines) assert.ok(line.length < 80, line);
});

test('without redrawing progress is the same without bars', () => {
  const { screen, text } = output(undefined);
  drawProgress(screen, COUNTS, 4_200);
  assert.equal(
    text(),
    [
      '   4.2 s   produced  buffered  at service  published  dead letters',
      '  review      2,010        10         990      1,000            10',
      '  import        500         0           0          0             0',
      '  lookup          0         0           0          0             0',
      '',
    ].join('\n'),
  );
});

function plain(line: string): string {
  return line.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g'), '');
}
