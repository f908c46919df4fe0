/** Header row of a batch. */
import { printable } from '../printable.ts';

/** The only mandatory column. */
export const CONTENT = 'Content';
/** Columns that the result file adds; `Expected result` may come with a batch. */
const RESULT_NAMES: readonly string[] = ['status', 'labels'];
const MAX_NAME = 40;

const fold = (name: string) => name.trim().toLowerCase();
const shown = (name: string) => `"${printable(name, MAX_NAME)}"`;

/** Returns what is wrong with the names of the columns. */
export function headerProblems(names: readonly string[]): string[] {
  if (!names.includes(CONTENT)) return [withoutContent(names)];
  return names.flatMap((name, index) => {
    const first = names.indexOf(name);
    return name !== '' && first < index
      ? [`columns ${first + 1} and ${index + 1} have the same name, ${shown(name)}`]
      : [];
  });
}

/** Returns the reason why a file with this header has no rows. */
export const withoutRows = (names: readonly string[]): string =>
  names.some(hasReturn) ? CR_ALONE : 'no rows below the header: nothing to review';

/** Line ends of very old systems: the whole file is the header then. */
const CR_ALONE = 'lines end in CR alone: save the file with LF or CRLF line ends';
const hasReturn = (name: string) => name.includes('\r');

/** A header that is missing may be content, which no message shows. */
function withoutContent(names: readonly string[]): string {
  if (names.some(hasReturn)) return CR_ALONE;
  if (names.length === 1 && names[0]?.includes(';')) return SEPARATED('semicolons');
  if (names.length === 1 && names[0]?.includes('\t')) return SEPARATED('tabs');
  const similar = names.find((name) => fold(name) === fold(CONTENT));
  return similar === undefined
    ? `the first line must be a header with a column called ${CONTENT}, which holds the content to review`
    : `the header has a column ${shown(similar)}; it must be called exactly ${CONTENT}`;
}

const SEPARATED = (by: string) => `the header has its cells separated by ${by}; CSV needs commas`;

/** Returns remarks on names that are allowed and probably unintended. */
export function headerNotes(names: readonly string[]): string[] {
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
