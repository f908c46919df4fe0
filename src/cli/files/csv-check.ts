/** Whether a file is what the service takes as a batch (service-interface.md 2.2), before anything is sent. */
import { printable } from '../printable.ts';
import { counted } from '../table.ts';
import type { Checked, FileCheck } from './check-file.ts';
import { CR_ALONE, csvHeaderNotes, csvHeaderProblems, hasBareReturn } from './csv-header.ts';
import {
  type CsvProblem,
  type CsvRecord,
  CsvRecords,
  type LineEnd,
  MAX_COLUMNS,
} from './csv-records.ts';
import { EncodingCheck } from './encoding.ts';
import type { Findings } from './findings.ts';

/** The interface names no limit. A larger row is nearly always a quote that was never closed. */
export const MAX_ROW_BYTES = 16 * 1024 * 1024;
/** Cells are parsed in slices, so that a signal gets its turn. */
const SLICE_BYTES = 64 * 1024;
const MAX_NAME = 40;
/** `{` and `[`. */
const OF_JSON: ReadonlySet<number | undefined> = new Set([0x7b, 0x5b]);

interface Header {
  readonly names: readonly string[];
  readonly content: number;
  readonly lineEnd: LineEnd | undefined;
}

export class CsvCheck implements FileCheck {
  readonly #findings: Findings;
  readonly #encoding: EncodingCheck;
  readonly #records = new CsvRecords(MAX_ROW_BYTES);
  #header: Header | undefined;
  #rows = 0;
  #emptyContents = 0;
  #firstEmptyContent = 0;
  #mixedLineEnds = false;
  #ended = false;
  #begunWith: number | undefined;

  constructor(findings: Findings) {
    this.#findings = findings;
    this.#encoding = new EncodingCheck(findings);
  }

  /** Whether nothing that follows can be understood. */
  get ended(): boolean {
    return this.#ended;
  }

  async feed(chunk: Buffer): Promise<void> {
    this.#begunWith ??= chunk[0];
    for (let start = 0; start < chunk.length && !this.#ended; start += SLICE_BYTES) {
      const slice = chunk.subarray(start, start + SLICE_BYTES);
      this.#encoding.feed(slice);
      this.#take(await this.#records.feed(slice));
    }
  }

  async finish(): Promise<Checked> {
    if (!this.#ended) {
      this.#encoding.finish();
      this.#take(await this.#records.finish());
    }
    const { names, content } = this.#header ?? { names: [], content: -1 };
    if (this.#header === undefined && !this.#ended) this.#findings.add(1, 'there is no header row');
    if (this.#header !== undefined && this.#rows === 0 && this.#findings.total === 0)
      this.#findings.add(
        1,
        hasBareReturn(names) ? CR_ALONE : 'there is nothing below the header: no row to review',
      );
    const notes = csvHeaderNotes(names);
    if (this.#emptyContents > 0) {
      const where = `${counted(this.#emptyContents, 'row')} with nothing in the column ${names[content]}`;
      notes.push(
        `${where}, the first at line ${this.#firstEmptyContent}: the service may not be able to review them`,
      );
    }
    return {
      size: `${counted(this.#rows, 'row')}, ${counted(names.length, 'column')}`,
      records: this.#rows,
      notes,
    };
  }

  close(): void {
    this.#records.close();
  }

  #take({
    records,
    problem,
  }: {
    readonly records: readonly CsvRecord[];
    readonly problem?: CsvProblem;
  }): void {
    for (const record of records) {
      if (this.#header === undefined) this.#takeHeader(record);
      else this.#takeRow(record, this.#header);
      if (this.#ended) return;
    }
    if (problem === undefined) return;
    const isJson = this.#header === undefined && OF_JSON.has(this.#begunWith);
    if (isJson)
      this.#findings.add(1, 'JSON, where CSV should be: `import submit` takes JSON Lines');
    else this.#findings.add(problem.line, `${this.#cellName(problem.cell)}: ${describe(problem)}`);
    this.#ended = true;
  }

  #takeHeader({ cells, lineEnd }: CsvRecord): void {
    const { problems, content } = csvHeaderProblems(cells);
    for (const problem of problems) this.#findings.add(1, problem);
    this.#header = { names: cells, content, lineEnd };
    // Of what follows a header that is none, nothing can be said.
    this.#ended = content < 0;
  }

  #takeRow({ cells, line, lineEnd, blank }: CsvRecord, header: Header): void {
    this.#rows += 1;
    if (lineEnd !== undefined && lineEnd !== header.lineEnd && !this.#mixedLineEnds) {
      this.#mixedLineEnds = true;
      this.#findings.add(
        line,
        `a line end of ${lineEnd}, where the header has ${header.lineEnd}: a file has one kind`,
      );
    }
    const width = header.names.length;
    if (blank) {
      this.#findings.add(line, 'blank: take it out');
    } else if (cells.length !== width) {
      const hint =
        cells.length > width ? ': a text with a comma or a line end needs quotes around it' : '';
      this.#findings.add(
        line,
        `${counted(cells.length, 'cell')}, where the header has ${width}${hint}`,
      );
    } else if (cells[header.content]?.trim() === '') {
      if (this.#emptyContents === 0) this.#firstEmptyContent = line;
      this.#emptyContents += 1;
    }
  }

  #cellName(cell: number): string {
    const name = this.#header?.names[cell - 1];
    return name === undefined || name === ''
      ? `cell ${cell}`
      : `cell ${cell} (${printable(name, MAX_NAME)})`;
  }
}

/** csv-parse's own messages quote the file. */
function describe({ code }: CsvProblem): string {
  const rest = 'What follows was not looked at';
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'begins with a quote that is never closed';
    case 'CSV_INVALID_CLOSING_QUOTE':
      return `a quote inside a quoted text must be written twice (""), and nothing may follow the closing one. ${rest}`;
    case 'INVALID_OPENING_QUOTE':
      return `holds a quote, but does not begin with one: put quotes around the text, and write each inside twice (""). ${rest}`;
    case 'CSV_MAX_RECORD_SIZE':
      return `in a row larger than ${MAX_ROW_BYTES / 1024 / 1024} MiB: a quote that is not closed, perhaps. ${rest}`;
    case 'TOO_MANY_COLUMNS':
      return `in a row of more than ${MAX_COLUMNS.toLocaleString('en-US')} columns. ${rest}`;
    default:
      return `is not CSV (${code}). ${rest}`;
  }
}
