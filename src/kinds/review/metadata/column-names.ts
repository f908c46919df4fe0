/**
 * Names of metadata columns (DESIGN 5, docs/metadata.md).
 *
 * A metadata key is its column's own header, so that a policy finds it, unless the header could be taken for a column of another
 * purpose or be changed on its way: then the column is called `meta:` and an escaped form of the key, from which the key is read
 * back. The name depends on the key and on the configuration only, never on the other keys of the file: a policy finds the
 * same key under the same name in each file. Two keys that differ only in case or in Unicode normalisation are two columns.
 */
import { RESULT_COLUMNS, RESULT_SUFFIX } from '../../../service/contract.ts';
import { looksLikeFormula } from '../csv-injection.ts';

const ALIAS_PREFIX = 'meta:';
const STANDARD_COLUMNS: readonly string[] = Object.values(RESULT_COLUMNS);
const CONTROL_CHARACTER = /\p{Cc}/u;

/** Two headers with the same fold might be taken for each other. */
export function foldName(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

/** Whether a header, in any spelling, is one of the columns of service-interface.md 2.3. */
export function isResultFileColumn(name: string): boolean {
  const fold = foldName(name);
  return STANDARD_COLUMNS.some((column) => foldName(column) === fold) || isResultColumn(name);
}

/** Whether a header is that of the decision's result: the service's name and ` result`, and not `Expected result`. */
export function isResultColumn(name: string): boolean {
  const fold = foldName(name);
  return fold.endsWith(RESULT_SUFFIX) && fold !== foldName(RESULT_COLUMNS.expected);
}

/** Why a name cannot be the header of the connector's own column; undefined when it can. */
export function problemWithReferenceColumn(name: string): string | undefined {
  if (name === '' || name !== name.trim() || CONTROL_CHARACTER.test(name) || !name.isWellFormed()) {
    return 'must have a character, none of them a control character, and no space around it';
  }
  if (isResultFileColumn(name)) return 'is a column of the result file';
  if (foldName(name).startsWith(ALIAS_PREFIX)) return `must not start with "${ALIAS_PREFIX}"`;
  return undefined;
}

/** Headers of metadata columns. Different keys have different headers, and none has the fold of a reserved header. */
export class ColumnNames {
  readonly #reserved: ReadonlySet<string>;
  readonly #escapeFormulas: boolean;

  /** @param reserved headers that the file has for something else */
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

/** The metadata key that a header stands for. */
export function keyOfHeader(header: string): string {
  const name = header.trim();
  if (name.slice(0, ALIAS_PREFIX.length).toLowerCase() !== ALIAS_PREFIX) return name;
  return unescapeKey(name.slice(ALIAS_PREFIX.length));
}

/** `^a` is an upper-case A; `%20` and `%u2603` are UTF-16 units. */
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
