/** Whether a value of JSON nests more levels of arrays and objects than allowed. Looks no deeper than that itself. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof member === 'object' && isDeeperThan(member, levels - 1)) return true;
  }
  return false;
}
