import { isObject } from '../../base/json/is-object.ts';
import { parseJson } from '../../base/json/parse-json.ts';
import { counted, printable } from '../text.ts';
import type { CheckedContent } from './check-file.ts';
import type { Findings } from './findings.ts';
import { linesOf, textProblem, wholeLines } from './text-file.ts';

/** Longest line. The service names no limit; a longer line is not JSON Lines. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_NAMES = 3;
const MAX_NAME = 40;

/** Checks the records of an import. Memory: one line and one chunk. */
export async function checkJsonl(
  chunks: AsyncIterable<Buffer>,
  findings: Findings,
): Promise<CheckedContent> {
  let line = 0;
  for await (const piece of wholeLines(chunks, MAX_LINE_BYTES)) {
    for (const bytes of linesOf(piece)) {
      line += 1;
      const problem =
        bytes.length > MAX_LINE_BYTES
          ? 'longer than 16 MiB: JSON Lines has one record per line'
          : (textProblem(bytes) ?? recordProblem(bytes.toString(), line));
      if (problem !== undefined) findings.add(line, problem);
    }
  }
  return { size: counted(line, 'record'), records: line, notes: [] };
}

function recordProblem(text: string, line: number): string | undefined {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    return syntaxProblem(text, error, line);
  }
  if (!isObject(value)) return `not a JSON object${arrayHint(text, line)}`;
  const { type, data, ...others } = value;
  const missing = ['type', 'data'].filter((name) => !Object.hasOwn(value, name));
  if (missing.length > 0) return `no field ${missing.join(' and no field ')}`;
  if (typeof type !== 'string') return 'the field type must be a string';
  if (!isObject(data)) return 'the field data must be an object';
  const names = Object.keys(others);
  if (names.length === 0)
    return memberCount(text) > 2 ? 'a field occurs more than once' : undefined;
  const shown = names.slice(0, MAX_NAMES).map((name) => printable(name, MAX_NAME));
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `fields other than type and data: ${shown.join(', ')}${more}`;
}

/** The engine's message quotes the line, so only the position is taken from it. */
function syntaxProblem(text: string, error: unknown, line: number): string {
  if (text.trim() === '') return 'blank: remove it';
  const [, position] = /at position (\d+)/.exec(String(error)) ?? [];
  const where = position === undefined ? '' : ` at character ${Number(position) + 1}`;
  return `not JSON${where}${arrayHint(text, line)}`;
}

const arrayHint = (text: string, line: number) =>
  line === 1 && text.trimStart().startsWith('[')
    ? `. For a JSON array: jq -c '.[]' FILE > NEW`
    : '';

/**
 * Counts the members of an object as they are written: JSON.parse keeps the last of several with one name.
 * @param json valid, with at least one member.
 */
export function memberCount(json: string): number {
  let count = 1;
  let depth = 0;
  let isString = false;
  for (const [sign] of json.matchAll(/\\.|["[\]{},]/g)) {
    if (sign === '"') isString = !isString;
    else if (isString) continue;
    else if (sign === ',') count += depth === 1 ? 1 : 0;
    else depth += sign === '{' || sign === '[' ? 1 : -1;
  }
  return count;
}
