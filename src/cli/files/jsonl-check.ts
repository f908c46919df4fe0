/** Whether a file is what the service takes as an import (service-interface.md 2.5), before anything is sent. */
import { isUtf8 } from 'node:buffer';
import { printable } from '../printable.ts';
import { counted } from '../table.ts';
import type { Checked, FileCheck } from './check-file.ts';
import { HAS_NUL, NOT_UTF8 } from './encoding.ts';
import type { Findings } from './findings.ts';
import { memberCount } from './json-members.ts';

/** The interface names no limit. Beyond this it is no file of lines. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 0x0a;
const NAMES_SHOWN = 3;
const MAX_NAME = 40;

/** Memory: one line and one chunk. */
export class JsonlCheck implements FileCheck {
  readonly ended = false;
  readonly #findings: Findings;
  /** Of the line that is not through yet. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #line = 1;
  #records = 0;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  async feed(chunk: Buffer): Promise<void> {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      this.#keep(chunk.subarray(from, end));
      this.#endLine();
      from = end + 1;
    }
    // A piece of the chunk would keep all of it in memory.
    if (from < chunk.length) this.#keep(Buffer.from(chunk.subarray(from)));
  }

  async finish(): Promise<Checked> {
    if (this.#begunBytes > 0) this.#endLine();
    return { size: counted(this.#records, 'record'), records: this.#records, notes: [] };
  }

  close(): void {
    this.#begun = [];
  }

  #keep(piece: Buffer): void {
    this.#begunBytes += piece.length;
    // What is too long is counted to its end, and kept no more.
    if (this.#begunBytes <= MAX_LINE_BYTES) this.#begun.push(piece);
    else this.#begun = [];
  }

  #endLine(): void {
    const problem =
      this.#begunBytes > MAX_LINE_BYTES ? TOO_LONG : problemWith(joined(this.#begun), this.#line);
    if (problem === undefined) this.#records += 1;
    else this.#findings.add(this.#line, problem);
    this.#begun = [];
    this.#begunBytes = 0;
    this.#line += 1;
  }
}

const TOO_LONG = `longer than ${MAX_LINE_BYTES / 1024 / 1024} MiB: JSON Lines has one record per line`;

const joined = ([first, ...rest]: readonly Buffer[]): Buffer =>
  first === undefined
    ? Buffer.alloc(0)
    : rest.length === 0
      ? first
      : Buffer.concat([first, ...rest]);

function problemWith(line: Buffer, number: number): string | undefined {
  if (!isUtf8(line)) return NOT_UTF8;
  const text = line.toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return notJson(text, error, number);
  }
  if (!isObject(value)) return `not a JSON object${arrayHint(text, number)}`;
  const { type, data, ...others } = value;
  const missing = ['type', 'data'].filter((name) => !Object.hasOwn(value, name));
  if (missing.length > 0) return `no field ${missing.join(' and no field ')}`;
  if (typeof type !== 'string') return 'the field type must be a text';
  if (!isObject(data)) return 'the field data must be an object';
  const names = Object.keys(others);
  if (names.length === 0)
    return memberCount(text) === 2
      ? undefined
      : 'a field is there more than once: type and data must be there once each';
  const shown = names.slice(0, NAMES_SHOWN).map((name) => printable(name, MAX_NAME));
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : '';
  return `fields other than type and data: ${shown.join(', ')}${more}`;
}

/** V8's message quotes the line, so only the place is taken from it. */
function notJson(text: string, error: unknown, number: number): string {
  if (text.trim() === '') return 'blank: take it out';
  if (text.includes('\0')) return HAS_NUL;
  if (text.startsWith('\ufeff')) return 'a byte order mark inside the file: take it out';
  const [, position] = /at position (\d+)/.exec(error instanceof Error ? error.message : '') ?? [];
  const where = position === undefined ? '' : `, from character ${Number(position) + 1} on`;
  return `not JSON${where}${arrayHint(text, number) || prettyHint(text, number) || csvHint(text, number)}`;
}

const arrayHint = (text: string, line: number) =>
  line === 1 && text.trimStart().startsWith('[') ? `. For a JSON list: jq -c '.[]' FILE > NEW` : '';

const prettyHint = (text: string, line: number) =>
  line === 1 && text.trim() === '{' ? '. For JSON over several lines: jq -c . FILE > NEW' : '';

const csvHint = (text: string, line: number) =>
  line === 1 && /^\w+(,\w+)*\s*$/.test(text) ? '. `batch submit` takes CSV' : '';

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
