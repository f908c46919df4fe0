/**
 * Which metadata a row has, and how each value was written: one short text inside the row's reference.
 *
 * A cell alone cannot tell missing from empty, 7 from "7", or a metadata column from one that the service added. The
 * shape lists the row's keys in order, separated by commas; `=` before a key means that its cell is JSON, otherwise it
 * is a string as it stands: `user_id,lang,=score`. Rows of one producer share few shapes, so a reader caches what it
 * made of each.
 */

export interface ShapeEntry {
  readonly key: string;
  /** The cell is JSON text; otherwise it is the string itself. */
  readonly json: boolean;
}

/** One key as it stands in a shape. Safe inside a JSON string without further escapes. */
export function shapeEntry(key: string, json: boolean): string {
  const escaped = key.replace(
    // Separators, and what a JSON string or UTF-8 could not hold as it is.
    /[,=%"\\]|[\p{Cc}\p{Cs}]/gu,
    (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return json ? `=${escaped}` : escaped;
}

/** Returns the entries of a shape, in order: the first `most` of them. */
export function parseShape(shape: string, most?: number): ShapeEntry[] {
  return shape.split(',', most).map((entry) => {
    const json = entry.startsWith('=');
    const key = (json ? entry.slice(1) : entry).replace(/%([0-9a-f]{4})/g, (_all, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    return { key, json };
  });
}
