/** Maximum nesting of metadata: serialising a deeper value would need a deep stack, here and in the readers of decisions. */
export const MAX_DEPTH = 64;

/**
 * True if a value of JSON nests more levels of arrays and objects than allowed. Looks no deeper
 * than that itself.
 */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((member) => isDeeperThan(member, levels - 1));
  // Values of JSON inherit nothing that is enumerable, and a list of the members would be garbage for each record.
  for (const name in value)
    if (isDeeperThan((value as Readonly<Record<string, unknown>>)[name], levels - 1)) return true;
  return false;
}
