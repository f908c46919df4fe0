/** Counts by name, such as the reason of a dead letter. */
export class Counts extends Map<string, number> {
  total = 0;

  add(name: string, times = 1): void {
    this.total += times;
    this.set(name, (this.get(name) ?? 0) + times);
  }

  /** Returns `3 no_type`, `1 not_json`, …, the most frequent first. @param shown form of a name */
  listed(shown = (name: string) => name): string[] {
    const sorted = [...this].sort(([, a], [, b]) => b - a);
    return sorted.map(([name, times]) => `${times} ${shown(name)}`);
  }
}
