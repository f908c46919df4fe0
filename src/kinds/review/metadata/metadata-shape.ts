/**
 * Shape of a row's metadata: a short text in the row's reference.
 *
 * A cell alone does not distinguish missing from empty, 7 from "7", or a metadata column from one
 * that the service added. The shape lists the row's keys in order, separated by commas; `=` before
 * a key marks a JSON cell, other cells are plain strings: `user_id,lang,=score`. Rows of a producer
 * share few shapes, so readers cache them.
 */

interface ShapeEntry {
  readonly key: string;
  /** True for a JSON cell, false for a plain string. */
  readonly json: boolean;
}

/** Returns the entry of a key, which needs no escapes in a JSON string. */
export function shapeEntry(key: string, json: boolean): string {
  const escaped = key.replace(
    // Separators, and characters that JSON strings or UTF-8 cannot hold unescaped.
    /[,=%"\\]|[\p{Cc}\p{Cs}]/gu,
    (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return json ? `=${escaped}` : escaped;
}

/** Returns the first `most` entries of a shape, in order. */
export function parseShape(shape: string, most?: number): ShapeEntry[] {
  return shape.split(',', most).map((entry) => {
    const json = entry.startsWith('=');
    const key = (json ? entry.slice(1) : entry).replace(/%([0-9a-f]{4})/g, (_all, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    return { key, json };
  });
}
