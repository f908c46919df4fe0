/** Copies an array to the start of a longer one. Returns the longer array. */
export function grown<T extends Uint8Array | Int32Array | Float64Array>(column: T, longer: T): T {
  longer.set(column);
  return longer;
}
