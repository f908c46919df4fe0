/** Complaints of a judge, grouped by kind. */

/** Number of complaints of one kind to list. */
const SHOWN = 3;

export class Complaints {
  readonly #byKind = new Map<string, string[]>();

  add(kind: string, where: string): void {
    const all = this.#byKind.get(kind) ?? [];
    all.push(where);
    this.#byKind.set(kind, all);
  }

  list(): string[] {
    return [...this.#byKind].map(([kind, all]) => {
      const more = all.length > SHOWN ? ` and ${all.length - SHOWN} more` : '';
      return `${all.slice(0, SHOWN).join(', ')}${more}: ${kind}`;
    });
  }
}
