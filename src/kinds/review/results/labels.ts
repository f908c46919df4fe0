/**
 * The Labels column (service-interface.md 2.3). Its form inside a cell is not shown, so every likely one is taken: a
 * JSON array of label objects (2.6) or of names, a single object or name, an object of names that are true or false, names with a
 * delimiter between, nothing.
 */

import { parseKeepingDigits } from '../../../base/exact-json.ts';
import { isDeeperThan } from '../../../base/json-depth.ts';

export interface LabelCell {
  /** A JSON array of objects with `name`, `applied` and `explanation`. */
  readonly json: string;
  /** The cell's text when it was not JSON: what was made of it is a guess. */
  readonly raw: string | undefined;
}

const NO_LABELS: LabelCell = { json: '[]', raw: undefined };
/** A list of labels takes up to two hundred times the memory of its text, and Kafka's default for a whole record is no larger. */
const MAX_TEXT_LENGTH = 1024 * 1024;
/** Levels of a label list, its own fields included. */
const MAX_DEPTH = 16;

/** Reads one cell. Never throws. */
export function readLabels(cell: string): LabelCell {
  const text = cell.trim();
  if (text === '') return NO_LABELS;
  if (text.length > MAX_TEXT_LENGTH) return { json: '[]', raw: cell };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { json: JSON.stringify(namesIn(text).map(labelNamed)), raw: cell };
  }
  if (value === null) return NO_LABELS;
  // A consumer must be able to read it, and so must this process.
  if (isDeeperThan(value, MAX_DEPTH)) return { json: '[]', raw: cell };
  // The common case, taken as it stands: no number is read and printed again.
  if (Array.isArray(value) && value.every(isWholeLabel)) return { json: text, raw: undefined };
  const exact = parseKeepingDigits(text);
  const labels: object[] = [];
  for (const entry of Array.isArray(exact) ? exact : isChoice(exact) ? labelsOf(exact) : [exact]) {
    if (typeof entry === 'string') labels.push(labelNamed(entry));
    else if (hasName(entry))
      labels.push({
        ...entry,
        applied: appliedOf(entry.applied),
        explanation: explanationOf(entry.explanation),
      });
    // JSON, but nothing with a name in it.
    else return { json: '[]', raw: cell };
  }
  return { json: JSON.stringify(labels), raw: undefined };
}

interface NamedLabel {
  readonly name: string;
  readonly applied?: unknown;
  readonly explanation?: unknown;
}

function hasName(value: unknown): value is NamedLabel {
  return (
    typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string'
  );
}

/** `{"money": true, "shouting": false}` */
function isChoice(value: unknown): value is Readonly<Record<string, boolean>> {
  if (typeof value !== 'object' || value === null) return false;
  const chosen = Object.values(value);
  return chosen.length > 0 && chosen.every((one) => typeof one === 'boolean');
}

function labelsOf(choice: Readonly<Record<string, boolean>>): object[] {
  return Object.entries(choice).map(([name, applied]) => ({ name, applied, explanation: null }));
}

function isWholeLabel(value: unknown): boolean {
  return (
    hasName(value) && typeof value.applied === 'boolean' && typeof value.explanation === 'string'
  );
}

/** A label that is listed without saying so was assigned. */
function appliedOf(value: unknown): boolean {
  return typeof value === 'boolean' ? value : true;
}

function explanationOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function labelNamed(name: string): object {
  return { name, applied: true, explanation: null };
}

/** The strongest first: what is weaker than the one that separates names belongs to a name. */
const DELIMITERS = ['\n', ';', '|', ','];

/** A text that starts like JSON is broken JSON, not names. */
function namesIn(text: string): string[] {
  if (text.startsWith('[') || text.startsWith('{') || text.startsWith('"')) return [];
  const delimiter = DELIMITERS.find((one) => text.includes(one));
  const names = delimiter === undefined ? [text] : text.split(delimiter);
  return names.map((name) => name.trim()).filter((name) => name !== '');
}
