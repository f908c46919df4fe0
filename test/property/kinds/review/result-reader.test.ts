import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type ResultFileSettings,
  sharedByFiles,
} from '../../../../src/kinds/review/results/file-settings.ts';
import type { ResultNotice } from '../../../../src/kinds/review/results/notices.ts';
import { resultFileReader } from '../../../../src/kinds/review/results/result-files.ts';
import { JOB } from '../../../unit/kinds/review/sample.ts';
import { hostileText, metadataText, numberLiteral } from './hostile.ts';
import { collected, readWhole } from './whole-file.ts';

const SETTINGS: ResultFileSettings = {
  topic: 'events',
  includeContent: false,
  referenceColumn: 'connector_ref',
  resultColumn: undefined,
  maxRowBytes: 100_000,
};

/** Reads a file three times, cut at these places, both ways: the third time a last row without line end may be believed. */
async function compare(
  file: Buffer,
  cuts: readonly number[],
  settings: ResultFileSettings,
  expectedRows?: number,
): Promise<void> {
  const notices: ResultNotice[] = [];
  const plainNotices: ResultNotice[] = [];
  const read = resultFileReader(settings, (notice) => notices.push(notice));
  const shared = sharedByFiles(settings, (notice) => plainNotices.push(notice));
  for (let download = 0; download < 3; download++) {
    const wanted = await readWhole(file, shared, JOB, expectedRows);
    const found = await collected(read(piecesOf(file, cuts), { job: () => JOB, expectedRows }));
    assert.deepEqual(found, wanted);
    assert.deepEqual(notices, plainNotices);
    if (file.at(-1) === 0x0a) return;
  }
}

/** The sizes come again and again. Pieces are copies, and are overwritten when the next is asked for. */
async function* piecesOf(file: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0;
  for (let piece = 0; at < file.length; piece++) {
    const size = sizes.length === 0 ? file.length : (sizes[piece % sizes.length] ?? 1);
    const copy = Buffer.from(file.subarray(at, at + size));
    yield copy;
    copy.fill(0x22);
    at += size;
  }
}

const cuts = fc.oneof(
  fc.constant([]),
  fc.constant([1]),
  fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
);

const text = (value: string) => JSON.stringify(value);
const count = fc.oneof(
  fc.constantFrom('0', '1', '00', '-1', '1.5', '1e3', '9007199254740993', '99999999999999999999'),
  fc.nat(1e9).map(String),
);
const timestamp = fc.oneof(
  fc.integer({ min: 0, max: 4102444800000 }).map(String),
  fc.constantFrom(
    '-1',
    '0',
    '999',
    '86399999',
    '8640000000000000',
    '253402300800000',
    '100000000000000',
    '999999999999999',
  ),
);
const key = fc.oneof(
  fc.constantFrom('null', '"k"', '""', '"é"', '["/w=="]', '7', '"a\\u0041"', 'nullx', '"\u0001"'),
  hostileText.map((value) => text(value.toWellFormed())),
);
const shape = fc.constantFrom(
  ...[
    '',
    ',"lang"',
    ',"lang,=score"',
    ',"=score,lang,x"',
    ',"missing"',
    ',0',
    ',""',
    ',"lang,lang"',
    ',"l%0061ng"',
    ',"la\\u006eg"',
  ],
  ...[
    ',"lang",{}',
    ',"lang",{"r":2,"h":[["a","b"],["event-id","x"]]}',
    ',0,{"m":[["x","{}"]],"x":"e"}',
    ',"lang","x"',
    ',"",""',
  ],
);
const reference = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(fc.nat(9), fc.nat(1e6), timestamp, key, shape)
      .map(([p, o, t, k, s]) => `[${p},${o},${t},${k}${s}]`),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(count, count, timestamp, key, shape)
      .map(([p, o, t, k, s]) => `[${p},${o},${t},${k}${s}]`),
  },
  { weight: 1, arbitrary: hostileText },
);
const status = fc.oneof(
  { weight: 6, arbitrary: fc.constant('SUCCESS') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'ERROR',
      'success',
      ' SUCCESS ',
      'PENDING',
      '',
      'PARTIAL',
      'SUCCESSE',
    ),
  },
);
const labels = fc.oneof(
  fc.constantFrom(
    '',
    '[]',
    '["a"]',
    '[{"name":"é\\"","applied":true,"explanation":"x"}]',
    'a;b',
    '{"a":true}',
    '7',
    '[',
    '  ["a"]',
  ),
  hostileText,
);
const score = fc.oneof(
  numberLiteral,
  metadataText,
  fc.constantFrom(
    '',
    ' 1',
    '01',
    '.5',
    '5.',
    '-',
    'true',
    'nul',
    '"a"',
    '1e5',
    '-0.50',
    '[1, "é"]',
  ),
);
const ROW_CELLS = {
  Content: hostileText,
  Status: status,
  'Acme result': fc.oneof(fc.constantFrom('', 'ok', 'spam'), hostileText),
  'Expected result': fc.oneof(fc.constant(''), hostileText),
  Labels: labels,
  lang: hostileText,
  score,
  x: hostileText,
  connector_ref: reference,
};
const NAMES = Object.keys(ROW_CELLS) as (keyof typeof ROW_CELLS)[];
const row = fc.record(ROW_CELLS);

/** Random styles of cells, rows and files. */
const styles = fc.array(fc.nat(), { minLength: 40, maxLength: 40 });

function cellOf(value: string, style: number): string {
  if (/[",\r\n]/.test(value) || style % 4 === 0) return `"${value.replaceAll('"', '""')}"`;
  return value;
}

const LINE_ENDS = ['\r\n', '\n', '\r\n\r\n', '\n\n\r\n'];

const file = fc
  .tuple(
    fc.array(row, { maxLength: 8 }),
    styles,
    fc.subarray(NAMES, { minLength: 1 }),
    fc.boolean(),
    fc.boolean(),
    fc.nat(3),
  )
  .map(([rows, style, some, all, mark, end]) => {
    const of = (n: number) => style[n % style.length] ?? 0;
    const columns = (
      all ? [...NAMES] : [...new Set([...some, 'Status', 'connector_ref'] as typeof NAMES)]
    ).sort((a, b) => of(NAMES.indexOf(a)) - of(NAMES.indexOf(b)));
    const lines = [columns.map((name) => cellOf(name, of(1)))];
    for (const [n, cells] of rows.entries())
      lines.push(columns.map((name, at) => cellOf(cells[name], of(n * 7 + at))));
    const ends = lines.map(
      (cells, n) => cells.join(',') + (LINE_ENDS[of(n) % LINE_ENDS.length] ?? ''),
    );
    return Buffer.from(
      (mark ? '\ufeff' : '') + (end === 0 ? ends.join('').trimEnd() : ends.join('')),
    );
  });

const damage = fc.array(
  fc.tuple(
    fc.nat(),
    fc.constantFrom(0x22, 0x2c, 0x0a, 0x0d, 0x5b, 0x5c, 0x00, 0x1f, 0xff, 0xc3, 0x31, 0x20),
  ),
  { maxLength: 4 },
);

test('any file, cut anywhere, gives the rows, the end and the notices that csv-parse and the renderer give', async () => {
  await fc.assert(
    fc.asyncProperty(
      file,
      cuts,
      fc.boolean(),
      fc.option(fc.nat(9), { nil: undefined }),
      async (bytes, sizes, content, rows) => {
        await compare(bytes, sizes, { ...SETTINGS, includeContent: content }, rows);
      },
    ),
    { numRuns: 2000 },
  );
});

test('so does a file with damaged bytes, and one that ends early', async () => {
  await fc.assert(
    fc.asyncProperty(
      file,
      damage,
      fc.nat(),
      fc.boolean(),
      cuts,
      async (whole, changes, length, isCut, sizes) => {
        const bytes = whole.subarray(0, isCut ? length % (whole.length + 1) : whole.length);
        for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
        await compare(bytes, sizes, { ...SETTINGS, includeContent: true });
      },
    ),
    { numRuns: 2000 },
  );
});

test('so does a text that is hardly a file', async () => {
  const scraps = fc.constantFrom(
    ...[
      '"',
      '""',
      '"""',
      ',',
      '\n',
      '\r',
      '\r\n',
      ' ',
      'a',
      'é',
      '\0',
      '\ufeff',
      'SUCCESS',
      '"[0,1,2,null]"',
      '"[0,1,2,""k""]"',
    ],
  );
  const header = fc.constantFrom(
    'Status,connector_ref\n',
    'Status,connector_ref\r\n',
    '\n"Status",connector_ref\n',
    '"Status,connector_ref\n',
    '\ufeffStatus,connector_ref\n',
    '',
  );
  await fc.assert(
    fc.asyncProperty(
      header,
      fc.array(scraps, { maxLength: 30 }),
      cuts,
      async (first, rest, sizes) => {
        await compare(Buffer.from(first + rest.join('')), sizes, SETTINGS);
      },
    ),
    { numRuns: 2000 },
  );
});

test('a file that begins like UTF-16, or is shorter than a byte order mark, is read as csv-parse reads it', async () => {
  const beginnings = [
    [0xff, 0xfe],
    [0xef, 0xbb],
    [0xef, 0xbb, 0xbf],
    [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf],
    [0x0a],
    [0x0a, 0x0a, 0x0a],
    [],
  ];
  for (const beginning of beginnings) {
    for (const rest of ['', 'Status,connector_ref\nSUCCESS,"[0,1,2,null]"\n']) {
      for (const sizes of [[], [1], [2]])
        await compare(Buffer.concat([Buffer.from(beginning), Buffer.from(rest)]), sizes, SETTINGS);
    }
  }
});

test('decisions of any size are the same, written from bytes or by the renderer', async () => {
  const sizes = [0, 1, 7_000, 7_800, 7_900, 8_000, 8_192, 20_000, 42_000, 43_000, 44_000, 60_000];
  for (const filler of ['x', '\u0001', '"', 'é']) {
    const cell = (size: number) => `"${filler.repeat(size).replaceAll('"', '""')}"`;
    const rows = sizes.map((size, n) => `${cell(size)},SUCCESS,"[0,${n},7,null]"\n`);
    await compare(Buffer.from(`Content,Status,connector_ref\n${rows.join('')}`), [], {
      ...SETTINGS,
      includeContent: true,
      maxRowBytes: 1_000_000,
    });
  }
});
