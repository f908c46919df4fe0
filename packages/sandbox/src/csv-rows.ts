/** Rows of an uploaded CSV file. */
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';

/** An upload that breaks the interface, or that a rule refuses: its batch or import fails. */
export class InvalidUpload extends Error {
  override readonly name = 'InvalidUpload';
}

/** Rows in slices, header first; no slice is empty. @throws InvalidUpload */
export async function* csvRows(upload: Readable): AsyncGenerator<string[][]> {
  let rows: string[][] = [];
  // Collecting in on_record avoids the parser's object stream: more than twice as fast.
  const parser = parse({
    bom: true,
    on_record: (row: string[]) => {
      rows.push(row);
      return null;
    },
  });
  parser.on('error', () => {});
  const taken = () => {
    const slice = rows;
    rows = [];
    return slice;
  };

  try {
    for await (const chunk of upload) {
      await new Promise<void>((resolve, reject) => {
        parser.write(chunk, (error) => (error ? reject(error) : resolve()));
      });
      if (rows.length > 0) yield taken();
    }
    parser.end();
    await finished(parser.resume());
    if (rows.length > 0) yield taken();
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // Code and line only: the library's message quotes the content.
    const line = typeof error.lines === 'number' ? ` at line ${error.lines}` : '';
    throw new InvalidUpload(`the upload is not valid CSV: ${error.code}${line}`);
  }
}
