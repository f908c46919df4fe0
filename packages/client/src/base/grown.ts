/** Copies a column into a longer one and returns the longer one. */
export function grown<T extends Uint8Array | Int32Array | Float64Array>(column: T, longer: T): T {
  longer.set(column);
  return longer;
}
