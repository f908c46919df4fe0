/** Formats that are not UTF-8 text, by the first bytes of a file. */

export interface ForeignFormat {
  /** Predicate of a sentence about the file. */
  readonly what: string;
  readonly remedy: string;
}

const encodedIn = (encoding: string): ForeignFormat => ({
  what: `is ${encoding} text, not UTF-8`,
  remedy: `save it as UTF-8, or convert it (iconv -f ${encoding} -t UTF-8 FILE > NEW)`,
});

/** UTF-16 comes last: its mark begins that of UTF-32. */
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
