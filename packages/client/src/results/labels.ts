/**
 * Reader of the Labels column. The API does not define the form of a cell, so all likely forms are
 * accepted: a JSON array of label objects or names, a single object or name, delimited names, or
 * nothing.
 */
import {
  isJsonContainer,
  MAX_VALUES,
  parseJson,
  parseKeepingDigits,
} from '../base/json/parse-json.ts';
import { JsonScanner, type ScannedValue } from '../base/json/scanner.ts';
import { readApplied } from '../service/contract.ts';

export interface LabelCell {
  /** JSON array of objects with `name`, `applied` and `explanation`. */
  readonly json: string;
  /** Original text if the cell is not JSON or is ambiguous, so that `json` is a guess. */
  readonly raw: string | undefined;
}

interface NamedLabel {
  readonly name: string;
  readonly applied?: unknown;
  readonly explanation?: unknown;
}

const NO_LABELS: LabelCell = { json: '[]', raw: undefined };
/**
 * Maximum length of a cell (Kafka's default for records). Parsed labels take up to 200 times the
 * memory of the text.
 */
const MAX_TEXT_LENGTH = 1024 * 1024;
/** Maximum nesting of a label list. */
const MAX_DEPTH = 16;
/** Maximum number of labels in a cell if any label must be completed. Each label then becomes an object in memory. */
const MAX_LABELS = 10_000;
const SCANNER = new JsonScanner([[]]);
const [WHOLE] = SCANNER.values;

/** Reads a cell. Never throws. */
export function readLabels(cell: string): LabelCell {
  const text = cell.trim();
  const unread = { json: '[]', raw: cell };
  if (text === '') return NO_LABELS;
  if (text.length > MAX_TEXT_LENGTH) return unread;
  const fault = SCANNER.scan(Buffer.from(text));
  // Neither this process nor consumers could safely read a value that is nested so deeply.
  if (fault === 'depth') return unread;
  if (fault !== undefined) {
    const names = namesIn(text);
    if (names === undefined) return unread;
    return { json: JSON.stringify(names.map((name) => labelOf({ name }))), raw: cell };
  }
  const { levels, values } = WHOLE as ScannedValue;
  if (levels > MAX_DEPTH || values > MAX_VALUES) return unread;
  const value = parseJson(text);
  if (value === null) return NO_LABELS;
  // Common case: copies the text, so that numbers need not be parsed and written again.
  if (Array.isArray(value) && value.every(isComplete)) return { json: text, raw: undefined };
  const exact = parseKeepingDigits(text);
  const labels = (Array.isArray(exact) ? exact : [exact]).map((entry: unknown) =>
    typeof entry === 'string' ? { name: entry } : entry,
  );
  if (labels.length > MAX_LABELS || !labels.every(isReadable)) return unread;
  return { json: JSON.stringify(labels.map(labelOf)), raw: undefined };
}

function isNamed(value: unknown): value is NamedLabel {
  return (
    typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string'
  );
}

/** Returns true for a label that has a valid name and states clearly whether it applies. */
function isReadable(value: unknown): value is NamedLabel {
  if (!isNamed(value) || readApplied(value.applied) === undefined) return false;
  return !NOTHING.test(value.name) && !isJsonContainer(value.name);
}

function isComplete(value: unknown): boolean {
  return (
    isNamed(value) && typeof value.applied === 'boolean' && typeof value.explanation === 'string'
  );
}

/** Completes a label. A label without `applied` applies. */
function labelOf(label: NamedLabel): object {
  const { applied, explanation } = label;
  return {
    ...label,
    applied: readApplied(applied) as boolean,
    explanation: typeof explanation === 'string' ? explanation : null,
  };
}

/** Strings that stand for an empty value. */
const NOTHING = /^(?:none|nan|n\/a|undefined)$/i;
/** Delimiters, strongest first. A weaker delimiter than the one in use is part of a name. */
const DELIMITERS = ['\n', ';', '|', ','];

/**
 * Returns delimited names. Returns none for an empty value, or for broken JSON (text that begins
 * like JSON), and undefined if there are too many.
 */
function namesIn(text: string): string[] | undefined {
  if (/^[[{"]/.test(text) || NOTHING.test(text)) return [];
  const delimiter = DELIMITERS.find((one) => text.includes(one));
  const names = delimiter === undefined ? [text] : text.split(delimiter, MAX_LABELS + 1);
  if (names.length > MAX_LABELS) return undefined;
  return names.map((name) => name.trim()).filter((name) => name !== '');
}
