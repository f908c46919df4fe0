/**
 * Service that follows the interface for uploads but varies everything else: the order of columns and rows, the CSV
 * style, extra columns, the size of chunks.
 */
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { type CsvStyle, readCsv, writeCsv } from '../../../unit/kinds/review/plain-csv.ts';

export interface EchoBehaviour {
  readonly readWith: 'plain' | 'csv-parse';
  readonly writeWith: CsvStyle | 'csv-stringify';
  /** Sort keys for columns and rows. */
  readonly order: readonly number[];
  readonly unknownColumn: string | undefined;
  readonly pieceBytes: number;
  /** Change of the uploaded cells. */
  readonly rewrites: keyof typeof REWRITES;
}

/** Changes of a cell. Only the connector's own column must come back unchanged. */
const REWRITES = {
  nothing: (cell: string) => cell,
  trim: (cell: string) => cell.trim(),
  pad: (cell: string) => ` ${cell}\r\n`,
  nfc: (cell: string) => cell.normalize('NFC'),
  nfd: (cell: string) => cell.normalize('NFD'),
  latin1: (cell: string) => Buffer.from(cell, 'latin1').toString('latin1'),
  lineEnds: (cell: string) => cell.replaceAll('\r\n', '\n'),
  spreadsheet: (cell: string, isOwn: boolean) =>
    isOwn || cell === '' || Number.isNaN(Number(cell)) ? cell : String(Number(cell)),
  shout: (cell: string, isOwn: boolean) => (isOwn ? cell : cell.toUpperCase()),
  empty: (cell: string, isOwn: boolean) => (isOwn ? cell : ''),
  exchange: (cell: string) => cell,
} as const satisfies Record<string, (cell: string, isOwn: boolean) => string>;

export const echoBehaviour: fc.Arbitrary<EchoBehaviour> = fc.record({
  readWith: fc.constantFrom('plain', 'csv-parse'),
  writeWith: fc.oneof(
    fc.constant('csv-stringify' as const),
    fc.record({
      recordEnd: fc.constantFrom('\r\n', '\n'),
      quoteAll: fc.boolean(),
      byteOrderMark: fc.boolean(),
      lastRecordEnds: fc.boolean(),
    }),
  ),
  order: fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
  unknownColumn: fc.option(fc.constantFrom('Reviewed by', 'review time', 'lang2', 'Human result'), {
    nil: undefined,
  }),
  pieceBytes: fc.integer({ min: 1, max: 5000 }),
  rewrites: fc.constantFrom(...(Object.keys(REWRITES) as (keyof typeof REWRITES)[])),
});

/** Returns the result file for an upload in chunks. Every row is a SUCCESS with the result `ok`. */
export function echo(upload: Buffer, behaviour: EchoBehaviour): Buffer[] {
  const [header = [], ...uploaded] =
    behaviour.readWith === 'plain' ? readCsv(upload.toString()) : (parse(upload) as string[][]);
  const rewrite = REWRITES[behaviour.rewrites];
  const rows = uploaded.map((row, n) =>
    row.map((cell, index) => {
      const isOwn = header[index] === 'connector_ref';
      if (isOwn || behaviour.rewrites !== 'exchange') return rewrite(cell, isOwn);
      return uploaded[(n + 1) % uploaded.length]?.[index] ?? '';
    }),
  );
  const added: Record<string, string> = { Status: 'SUCCESS', 'Acme result': 'ok', Labels: '[]' };
  if (!header.includes('Expected result')) added['Expected result'] = '';
  if (behaviour.unknownColumn !== undefined) added[behaviour.unknownColumn] = 'x, "y"';

  const columns = shuffled(
    [...header.keys()]
      .map((index) => [header[index] ?? '', index] as const)
      .concat(Object.keys(added).map((name) => [name, -1])),
    behaviour,
  );
  const table = [
    columns.map(([name]) => name),
    ...shuffled(rows, behaviour).map((row) =>
      columns.map(([name, index]) => (index === -1 ? (added[name] ?? '') : (row[index] ?? ''))),
    ),
  ];
  const text =
    behaviour.writeWith === 'csv-stringify'
      ? stringify(table)
      : writeCsv(table, behaviour.writeWith);
  const file = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at < file.length; at += behaviour.pieceBytes)
    pieces.push(file.subarray(at, at + behaviour.pieceBytes));
  return pieces;
}

function shuffled<T>(list: readonly T[], { order }: EchoBehaviour): T[] {
  return list
    .map((entry, index) => ({ entry, rank: order[index % order.length] ?? 0 }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ entry }) => entry);
}
