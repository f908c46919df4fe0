/** Processing of uploaded files: CSV content is judged into a result file, JSON Lines are checked. */
import { CsvError, parse } from 'csv-parse/sync';
import { isObject } from '../../client/src/base/json/json-values.ts';
import { parseJson } from '../../client/src/base/json/parse-json.ts';
import {
  CONTENT_COLUMN,
  RESULT_COLUMNS,
  RESULT_SUFFIX,
} from '../../client/src/service/contract.ts';
import { judgeFor, type SandboxPolicy, textTest } from './policy.ts';

/** Error for an upload that violates the interface or that a rule refuses. Its batch or import fails. */
export class InvalidUpload extends Error {
  override readonly name = 'InvalidUpload';
}

export interface Review {
  /** Rows of the result file, header first. */
  readonly rows: readonly (readonly string[])[];
  /** Number of rows with status ERROR. */
  readonly errorRows: number;
}

/** Judges an uploaded CSV file. @throws InvalidUpload */
export function reviewOf(upload: Buffer, type: string, policy: SandboxPolicy): Review {
  const [header, ...uploaded] = csvRows(upload);
  if (header === undefined) {
    throw new InvalidUpload('the upload is empty: a header row is required');
  }
  const content = header.indexOf(CONTENT_COLUMN);
  if (content < 0) throw new InvalidUpload(`the upload has no column named ${CONTENT_COLUMN}`);
  const expected = header.indexOf(RESULT_COLUMNS.expected);
  const judge = judgeFor(policy.review, type, header, content);
  const metadataOf = (cells: readonly string[]) =>
    cells.filter((_, column) => column !== content && column !== expected);
  let errorRows = 0;
  const results = uploaded.map((cells) => {
    const { status, result, labels, failsBatch } = judge(cells);
    if (failsBatch) {
      throw new InvalidUpload('a rule of the policy fails every batch with a row like this');
    }
    if (status === 'ERROR') errorRows += 1;
    const made = [cells[content] ?? '', status, result, cells[expected] ?? '', labels];
    return [...made, ...metadataOf(cells)];
  });
  const names = [
    ...[RESULT_COLUMNS.content, RESULT_COLUMNS.status, policy.service.name + RESULT_SUFFIX],
    ...[RESULT_COLUMNS.expected, RESULT_COLUMNS.labels],
  ];
  return { rows: [[...names, ...metadataOf(header)], ...results], errorRows };
}

function csvRows(upload: Buffer): string[][] {
  try {
    return parse(upload, { bom: true });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // Contains only the code and the line, because the library's message quotes the content.
    const line = typeof error.lines === 'number' ? ` at line ${error.lines}` : '';
    throw new InvalidUpload(`the upload is not valid CSV: ${error.code}${line}`);
  }
}

/**
 * Checks an uploaded JSON Lines file. Error messages name the line, but never quote it.
 * @returns the number of records
 * @throws InvalidUpload
 */
export function recordsIn(upload: Buffer, { fail }: SandboxPolicy['imports']): number {
  const rules = fail.map((when) => ({ types: when.type, fits: textTest(when) }));
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const text = attempt(() => decoder.decode(upload), 'the file');
  const lines = text.replace(/\n$/, '').split('\n');
  for (const [index, line] of lines.entries()) {
    const name = `line ${index + 1}`;
    const json = attempt(() => parseJson(line), name);
    if (!isObject(json) || typeof json.type !== 'string' || !isObject(json.data)) {
      throw new InvalidUpload(
        `${name} is not an object with "type" (a string) and "data" (an object)`,
      );
    }
    const { type, data: _, ...others } = json;
    if (Object.keys(others).length > 0) {
      throw new InvalidUpload(`${name} has fields other than "type" and "data"`);
    }
    if (rules.some((rule) => (rule.types?.includes(type) ?? true) && rule.fits(line))) {
      const reason = 'a rule of the policy fails every import with a record like this';
      throw new InvalidUpload(`${name}: ${reason}`);
    }
  }
  return lines.length;
}

function attempt<Value>(read: () => Value, name: string): Value {
  try {
    return read();
  } catch {
    throw new InvalidUpload(`${name} is not JSON in UTF-8`);
  }
}
