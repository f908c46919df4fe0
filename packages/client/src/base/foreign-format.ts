/** Formats other than CSV in UTF-8, by the beginning of a file. */

export interface ForeignFormat {
  /** Predicate of a sentence about the file. */
  readonly what: string;
  readonly remedy: string;
}

const encodedIn = (encoding: string): ForeignFormat => ({
  what: `is ${encoding} text, not UTF-8`,
  remedy: `save it as UTF-8, or convert it (iconv -f ${encoding} -t UTF-8 FILE > NEW)`,
});

/** UTF-16 comes last, because its mark also begins the mark of UTF-32. */
const SIGNATURES: readonly (readonly [string, ForeignFormat])[] = [
  ['\xff\xfe\0\0', encodedIn('UTF-32')],
  ['\xff\xfe', encodedIn('UTF-16')],
  ['\xfe\xff', encodedIn('UTF-16')],
  ['\x1f\x8b', { what: 'is compressed (gzip)', remedy: 'unpack it first' }],
  [
    'PK\x03\x04',
    { what: 'is a zip file or a workbook of a spreadsheet', remedy: 'export its text first' },
  ],
];

/** Returns the format of a file with this beginning; undefined when it may be UTF-8 text. */
export function foreignFormat(head: Buffer): ForeignFormat | undefined {
  const text = head.toString('latin1', 0, 4);
  return SIGNATURES.find(([signature]) => text.startsWith(signature))?.[1];
}

const DELIMITERS = new Map([
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'vertical bars'],
]);

/**
 * Returns what a file is whose first row, read as CSV, lacks the expected columns: the predicate of
 * a sentence about the file. Undefined if it may be CSV.
 */
export function foreignHeader(names: readonly string[]): string | undefined {
  const [first = ''] = names;
  if (first.includes('\0')) return 'has NUL bytes: it is UTF-16 text, perhaps';
  if (/^\s*</.test(first)) return 'is HTML or XML, not CSV';
  if (/^\s*[[{]/.test(first)) return 'is JSON, not CSV';
  if (/^\s*#/.test(first)) return 'begins with a comment, not with a header';
  if (/^sep=/i.test(first)) return 'begins with a line for spreadsheets (sep=), not with a header';
  if (names.length > 1) return undefined;
  const [, delimiter] = [...DELIMITERS].find(([one]) => first.includes(one)) ?? [];
  return delimiter && `is delimited by ${delimiter}, not by commas`;
}
