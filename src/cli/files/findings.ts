/** What is wrong with a file: the first findings by line, and how many there are in all. */
import { printable } from '../printable.ts';
import { counted } from '../table.ts';

/** Findings that are shown. */
const SHOWN = 10;
const MAX_SENTENCE = 400;

export interface Finding {
  /** From 1. Of what spans lines, where it begins. */
  readonly line: number;
  /** What is wrong, without the file's content. */
  readonly message: string;
}

export class Findings {
  readonly #first: Finding[] = [];
  #total = 0;

  /** Findings of one kind come in order; those of several kinds need not. */
  add(line: number, message: string): void {
    this.#total += 1;
    const later = this.#first.findLastIndex((finding) => finding.line <= line) + 1;
    this.#first.splice(later, 0, { line, message });
    this.#first.length = Math.min(this.#first.length, SHOWN);
  }

  get total(): number {
    return this.#total;
  }

  /** The first by line, and of one line in the order in which they came. */
  first(): readonly Finding[] {
    return this.#first;
  }
}

/** A file that must not be sent. The message says all that a person needs. */
export class BadFile extends Error {
  override readonly name = 'BadFile';

  /** @param problems a sentence about the whole file, or findings by line. */
  constructor(file: string, problems: string | Findings) {
    const shown = printable(file);
    super(
      typeof problems === 'string'
        ? `${shown} ${problems} Nothing was sent.`
        : listed(shown, problems),
    );
  }
}

function listed(file: string, findings: Findings): string {
  const first = findings
    .first()
    .map(({ line, message }) => `  line ${line}: ${printable(message, MAX_SENTENCE)}`);
  const rest = findings.total - first.length;
  return [
    `${file} has ${counted(findings.total, 'problem')}. Nothing was sent.`,
    ...first,
    ...(rest > 0 ? [`  … and ${rest.toLocaleString('en-US')} more`] : []),
  ].join('\n');
}
