/**
 * Names of metadata columns (docs/metadata.md).
 *
 * The header of a column is its metadata key, so that a policy finds it. If that header could be
 * mistaken for another column or changed in transit, it is `meta:` and an escaped form of the key
 * instead, which can be reversed. The header depends only on the key and the configuration, never
 * on other keys of the file, so it is the same in each file. Keys that differ only in case or
 * Unicode normalisation have two columns.
 */
import { RESULT_COLUMNS, RESULT_SUFFIX } from '../../../service/contract.ts';
import { looksLikeFormula } from '../csv-injection.ts';

const ALIAS_PREFIX = 'meta:';
const STANDARD_COLUMNS: readonly string[] = Object.values(RESULT_COLUMNS);
const CONTROL_CHARACTER = /\p{Cc}/u;

/** Returns the form by which headers are compared: without case, padding and width. */
export function foldName(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

/** True for a column that the interface defines, in any spelling. */
export function isResultFileColumn(name: string): boolean {
  const fold = foldName(name);
  return STANDARD_COLUMNS.some((column) => foldName(column) === fold) || isResultColumn(name);
}

/** True for the header of the result: the service's name and ` result`. */
export function isResultColumn(name: string): boolean {
  const fold = foldName(name);
  return fold.endsWith(RESULT_SUFFIX) && fold !== foldName(RESULT_COLUMNS.expected);
}

/** Returns the reason why a name cannot be the connector's own column; undefined if it can. */
export function problemWithReferenceColumn(name: string): string | undefined {
  if (name === '' || name !== name.trim() || CONTROL_CHARACTER.test(name) || !name.isWellFormed()) {
    return 'must have a character, none of them a control character, and no space around it';
  }
  if (isResultFileColumn(name)) return 'is a column of the result file';
  if (foldName(name).startsWith(ALIAS_PREFIX)) return `must not start with "${ALIAS_PREFIX}"`;
  return undefined;
}

/** Headers of metadata columns: unique, and distinct from the reserved ones. */
export class ColumnNames {
  readonly #reserved: ReadonlySet<string>;
  readonly #escapeFormulas: boolean;

  /** @param reserved headers with another purpose */
  constructor(reserved: readonly string[], escapeFormulas = false) {
    this.#escapeFormulas = escapeFormulas;
    this.#reserved = new Set(reserved.map(foldName));
  }

  /** Returns the header for a metadata key. */
  headerFor(key: string): string {
    const fold = foldName(key);
    const plain =
      key !== '' &&
      key === key.trim() &&
      !CONTROL_CHARACTER.test(key) &&
      key.isWellFormed() &&
      !fold.startsWith(ALIAS_PREFIX) &&
      !(this.#escapeFormulas && looksLikeFormula(key)) &&
      !isResultFileColumn(key) &&
      !this.#reserved.has(fold);
    return plain ? key : ALIAS_PREFIX + escapeKey(key);
  }
}

/** Returns the metadata key of a header. */
export function keyOfHeader(header: string): string {
  const name = header.trim();
  if (name.slice(0, ALIAS_PREFIX.length).toLowerCase() !== ALIAS_PREFIX) return name;
  return unescapeKey(name.slice(ALIAS_PREFIX.length));
}

/** Escapes a key: `^a` is an upper-case A; `%20` and `%u2603` are UTF-16 units. */
function escapeKey(key: string): string {
  return key.replace(/[^a-z0-9_.-]/g, (unit) => {
    if (unit >= 'A' && unit <= 'Z') return `^${unit.toLowerCase()}`;
    const hex = unit.charCodeAt(0).toString(16);
    return hex.length <= 2 ? `%${hex.padStart(2, '0')}` : `%u${hex.padStart(4, '0')}`;
  });
}

function unescapeKey(escaped: string): string {
  return escaped.replace(
    /\^([a-z])|%u([0-9a-f]{4})|%([0-9a-f]{2})/gi,
    (_all, letter, unit, byte) =>
      letter === undefined
        ? String.fromCharCode(Number.parseInt(unit ?? byte, 16))
        : letter.toUpperCase(),
  );
}
