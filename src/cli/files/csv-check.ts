import { counted, printable } from '../text.ts';
import type { CheckedContent } from './check-file.ts';
import { type CsvRecord, CsvViolation, csvRecords } from './csv-records.ts';
import type { Findings } from './findings.ts';
import { checkText, wholeLines } from './text-file.ts';

/** Largest row. The service names no limit; a larger row is nearly always a quote that was never closed. */
export const MAX_ROW_BYTES = 16 * 1024 * 1024;
const MAX_NAME = 40;

/** Checks the rows of a batch. Memory: one row and one chunk. */
export async function checkCsv(
  chunks: AsyncIterable<Buffer>,
  findings: Findings,
): Promise<CheckedContent> {
  let first: CsvRecord | undefined;
  let rows = 0;
  let isMixed = false;
  let empty = { rows: 0, line: 0 };

  const text = async function* () {
    let line = 1;
    for await (const piece of wholeLines(chunks, MAX_ROW_BYTES)) {
      line = checkText(piece, line, findings);
      yield piece;
    }
  };
  const checkRow = ({ cells, line, lineEnd, isBlank }: CsvRecord, header: CsvRecord) => {
    rows += 1;
    if (!isMixed && lineEnd !== undefined && lineEnd !== header.lineEnd) {
      isMixed = true;
      findings.add(line, `a line end of ${lineEnd}, where the header has ${header.lineEnd}`);
    }
    const width = header.cells.length;
    if (isBlank) {
      findings.add(line, 'blank: remove it');
    } else if (cells.length !== width) {
      const hint =
        cells.length > width ? ': a text with a comma or a line end needs quotes around it' : '';
      findings.add(line, `${counted(cells.length, 'cell')}, where the header has ${width}${hint}`);
    } else if (cells[header.cells.indexOf(CONTENT)]?.trim() === '') {
      empty = { rows: empty.rows + 1, line: empty.line || line };
    }
  };

  try {
    for await (const record of csvRecords(text(), MAX_ROW_BYTES)) {
      if (first !== undefined) {
        checkRow(record, first);
        continue;
      }
      first = record;
      for (const problem of headerProblems(record.cells)) findings.add(1, problem);
      // Without the column Content it is probably not a header, so rows cannot be compared with its width.
      if (!record.cells.includes(CONTENT)) break;
    }
    if (rows === 0 && findings.total === 0)
      findings.add(1, 'no rows below the header: nothing to review');
  } catch (error) {
    if (!(error instanceof CsvViolation)) throw error;
    findings.add(error.line, violationText(error, first?.cells[error.cell - 1]));
  }

  const names = first?.cells ?? [];
  const notes = headerNotes(names);
  if (empty.rows > 0)
    notes.push(
      `${counted(empty.rows, 'row')} without content, the first at line ${empty.line}: the service may not be able to review them`,
    );
  const size = `${counted(rows, 'row')}, ${counted(names.length, 'column')}`;
  return { size, records: rows, notes };
}

/** The messages of csv-parse quote the file. */
const VIOLATIONS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'begins with a quote that is never closed',
  CSV_INVALID_CLOSING_QUOTE:
    'a quote inside a quoted text must be written twice (""), and nothing may follow the closing one',
  INVALID_OPENING_QUOTE:
    'holds a quote, but does not begin with one: put quotes around the text, and write each inside twice ("")',
  CSV_MAX_RECORD_SIZE: 'in a row larger than 16 MiB: a quote that is not closed, perhaps',
  TOO_MANY_COLUMNS: 'in a row of more than 16,384 columns',
};

function violationText({ code, cell }: CsvViolation, name = ''): string {
  const shown = name === '' ? '' : ` (${printable(name, MAX_NAME)})`;
  return `cell ${cell}${shown}: ${VIOLATIONS[code] ?? `not CSV (${code})`}. The rest was not checked`;
}

/** The only mandatory column. */
const CONTENT = 'Content';
/** Columns that the result file adds; `Expected result` may come with a batch. */
const RESULT_NAMES: readonly string[] = ['status', 'labels'];

const fold = (name: string) => name.trim().toLowerCase();
const shown = (name: string) => `"${printable(name, MAX_NAME)}"`;

/** Returns what is wrong with the names of the columns. */
function headerProblems(names: readonly string[]): string[] {
  if (!names.includes(CONTENT)) return [withoutContent(names)];
  return names.flatMap((name, index) => {
    const first = names.indexOf(name);
    return name !== '' && first < index
      ? [`columns ${first + 1} and ${index + 1} have the same name, ${shown(name)}`]
      : [];
  });
}

/** Without a header the first line is content, which no message shows. */
function withoutContent(names: readonly string[]): string {
  if (names.length === 1 && names[0]?.includes(';')) return separatedBy('semicolons');
  if (names.length === 1 && names[0]?.includes('\t')) return separatedBy('tabs');
  const similar = names.find((name) => fold(name) === fold(CONTENT));
  return similar === undefined
    ? `the first line must be a header with a column called ${CONTENT}, which holds the content to review`
    : `the header has a column ${shown(similar)}; it must be called exactly ${CONTENT}`;
}

const separatedBy = (what: string) =>
  `the header has its cells separated by ${what}; CSV needs commas`;

/** Returns remarks on names that are allowed and probably unintended. */
function headerNotes(names: readonly string[]): string[] {
  return names.flatMap((name, index) => {
    const folded = fold(name);
    if (folded === '') return [`column ${index + 1} has no name`];
    const isResult = / result$/.test(folded) && folded !== 'expected result';
    return isResult || RESULT_NAMES.includes(folded)
      ? [
          `the column ${shown(name)} is named like one of the result file, which will have both: see --json and --result-column`,
        ]
      : [];
  });
}
