/** The header row of a batch (service-interface.md 2.2). */
import { printable } from '../printable.ts';

/** The one column that must be there. */
const CONTENT = 'Content';
/** What the result file adds (2.3); `Expected result` is one that a batch may bring along. */
const OF_RESULTS: readonly string[] = ['status', 'labels'];
const MAX_NAME = 40;
/** Other things that people separate cells with. */
const SEPARATORS: readonly (readonly [string, string])[] = [
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'bars'],
];

/** Line ends of very old systems: the whole file is the header then. */
export const CR_ALONE = 'its lines end in CR alone: save the file with LF or CRLF line ends';
export const hasBareReturn = (names: readonly string[]) =>
  names.some((name) => name.includes('\r'));

const fold = (name: string) => name.trim().toLowerCase();
const shown = (name: string) => `"${printable(name, MAX_NAME)}"`;

/** @returns what is wrong, and where the column Content is: -1 when it is not there. */
export function csvHeaderProblems(names: readonly string[]): {
  readonly problems: string[];
  readonly content: number;
} {
  const content = names.indexOf(CONTENT);
  if (content < 0) return { problems: [withoutContent(names)], content };
  const problems = names.flatMap((name, index) => {
    const first = names.indexOf(name);
    return name !== '' && first < index
      ? [`columns ${first + 1} and ${index + 1} have the same name, ${shown(name)}`]
      : [];
  });
  return { problems, content };
}

function withoutContent(names: readonly string[]): string {
  if (hasBareReturn(names)) return CR_ALONE;
  const [only = ''] = names;
  const separator =
    names.length === 1 ? SEPARATORS.find(([sign]) => only.includes(sign)) : undefined;
  if (separator !== undefined)
    return `the header has its cells separated by ${separator[1]}; CSV needs commas`;
  const meant = names.find((name) => fold(name) === fold(CONTENT));
  if (meant !== undefined)
    return `the header has a column ${shown(meant)}; it must be called exactly ${CONTENT}`;
  return `the first line must be a header with a column called ${CONTENT}, which holds what is to be reviewed`;
}

/** What is allowed, and probably not meant. */
export function csvHeaderNotes(names: readonly string[]): string[] {
  const notes = names.flatMap((name) => {
    if (OF_RESULTS.includes(fold(name)))
      return [
        `the column ${shown(name)} is named like one of the results, which will have both: with --json yours is in \`metadata\``,
      ];
    if (!/ result$/.test(fold(name)) || fold(name) === 'expected result') return [];
    const which =
      'with --json the first behind `Status` counts, or the one that --result-column names';
    return [`the column ${shown(name)} is named like that of the result: ${which}`];
  });
  const unnamed = names.flatMap((name, index) => (name.trim() === '' ? [index + 1] : []));
  if (unnamed.length > 0)
    notes.push(
      unnamed.length === 1
        ? `column ${unnamed[0]} has no name`
        : `columns ${unnamed.join(', ')} have no name`,
    );
  return notes;
}
