import { CommandFailed } from '../exit-codes.ts';
import { counted, printable } from '../text.ts';

const MAX_SHOWN = 10;
const MAX_SENTENCE = 400;

/** Problems of a file: the first of them by line, and their number. */
export class Findings {
  /** The first by line; those of one line in the order in which they were added. */
  readonly first: { readonly line: number; readonly message: string }[] = [];
  total = 0;

  /**
   * @param line from 1; the first line of what spans several.
   * @param message without content of the file.
   */
  add(line: number, message: string): void {
    this.total += 1;
    const after = this.first.findLastIndex((finding) => finding.line <= line) + 1;
    this.first.splice(after, 0, { line, message });
    this.first.length = Math.min(this.first.length, MAX_SHOWN);
  }
}

/** File that must not be sent. */
export class BadFile extends CommandFailed {
  /** @param problems a sentence about the whole file, or findings by line. */
  constructor(file: string, problems: string | Findings) {
    super(
      typeof problems === 'string'
        ? `${printable(file)} ${problems} Nothing was sent.`
        : listed(printable(file), problems),
    );
  }
}

function listed(file: string, { first, total }: Findings): string {
  const rest = total - first.length;
  return [
    `${file} has ${counted(total, 'problem')}. Nothing was sent.`,
    ...first.map(({ line, message }) => `  line ${line}: ${printable(message, MAX_SENTENCE)}`),
    ...(rest > 0 ? [`  … and ${rest.toLocaleString('en-US')} more`] : []),
  ].join('\n');
}
