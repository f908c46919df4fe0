/** Arbitraries of realistic and of hostile events. */
import fc from 'fast-check';
import type { RecordHeaders } from '../../../../src/core/record.ts';
import { anyCharacter } from '../../../support/any-character.ts';

/** Keys that CSV or JavaScript code could confuse with syntax or built-in names. */
const KEYS = [
  ...[
    '',
    ' ',
    'Status',
    'status',
    'STATUS ',
    'Content',
    'content',
    ' Content',
    'Labels',
    'labels',
    'Expected result',
  ],
  ...[
    'expected RESULT',
    'Service result',
    'x result',
    'x Result ',
    ' result',
    'result',
    'connector_ref',
    'Connector_ref',
  ],
  ...[
    'meta:a',
    'META:a',
    'meta:%61',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'a',
    'A',
    ' a',
    'a ',
    'Ａ',
  ],
  ...[
    'a,b',
    '=a',
    '=',
    ',',
    '%002c',
    'a"b',
    'a\\b',
    'a\nb',
    'a\rb',
    'a\0b',
    '\ufeffa',
    '\ufeff',
    '\u2028',
    '\ud800',
    '\udc00a',
  ],
  ...['é', 'e\u0301', 'ß', 'SS', 'İ', '🙂', '0', '1', '-1', 'user_id', 'lang', 'score'],
];

const TEXTS = [
  ...[
    '',
    ' ',
    ' x ',
    '\t',
    '0',
    '007',
    '1',
    '-0',
    '1e5',
    '1.0',
    'true',
    'false',
    'null',
    '[]',
    '{}',
    '{"a":1}',
    '"',
    '""',
    '","',
  ],
  ...[
    '\r',
    '\n',
    '\r\n',
    '\n\r',
    'a\rb',
    'a\n',
    '\na',
    '\0',
    'a\0',
    '"\0',
    '\ufeff',
    '\ufeffx',
    '\u2028\u2029',
    '\u0085',
    '🙂',
  ],
  ...[
    '\ud800',
    '\udc00',
    'a\ud800b',
    '\ud83d',
    '=cmd',
    '+1',
    '@x',
    '-1',
    '\\N',
    '\\.',
    "'",
    ',',
    ',,',
    ';',
    '\u202e',
    'İ',
    'NaN',
  ],
];

export const hostileText = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: anyCharacter, maxLength: 20 }) },
  {
    weight: 2,
    arbitrary: fc.array(fc.constantFrom(...TEXTS), { maxLength: 5 }).map((parts) => parts.join('')),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 200 }) },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.integer({ min: 0xd800, max: 0xdfff }), { maxLength: 4 })
      .map((units) => String.fromCharCode(...units)),
  },
);

export const hostileKey = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...KEYS) },
  { weight: 1, arbitrary: hostileText },
);

/** Number literals of JSON, including numbers that a double cannot represent. */
export const numberLiteral = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '-0.0',
    '1.0',
    '1e2',
    '1E+2',
    '12345678901234567890',
    '9007199254740993',
    '-9007199254740993',
  ),
  fc.constantFrom(
    '1e400',
    '-1e400',
    '1e-400',
    '0.1000000000000000055',
    '123.4560000000000000000001',
    '5e-324',
    '0e999',
  ),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .map((value) => (Object.is(value, -0) ? '-0' : String(value))),
  fc.integer().map(String),
);

/** JSON text, which keeps the producer's numbers and order of members. */
const { value: valueText } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    { weight: 5, arbitrary: hostileText.map((text) => JSON.stringify(text)) },
    { weight: 3, arbitrary: numberLiteral },
    { weight: 2, arbitrary: fc.constantFrom('true', 'false', 'null', '[]', '{}') },
    {
      weight: 1,
      arbitrary: fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
    },
    { weight: 1, arbitrary: objectText(tie('value')) },
  ),
}));

function objectText(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .uniqueArray(fc.tuple(hostileKey, value), { selector: ([key]) => key, maxLength: 8 })
    .map(
      (members) => `{${members.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`,
    );
}

/** JSON text of an object with hostile keys and values. */
export const metadataText = objectText(valueText);

export const keyBytes: fc.Arbitrary<Buffer | null> = fc.oneof(
  fc.constant(null),
  hostileText.map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
);

const headerBytes = fc.oneof(
  hostileText.map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
  fc.constant(null),
);

export const HEADER_NAMES = ['trace', 'Trace', '', 'a,b"c', '__proto__', 'constructor', '🙂'];

export const headers: fc.Arbitrary<RecordHeaders> = fc.array(
  fc.tuple(fc.constantFrom(...HEADER_NAMES, 'not listed'), headerBytes),
  { maxLength: 8 },
);
