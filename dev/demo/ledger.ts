/** Produced records and their expected outcomes. */

/** The outcome that the pipeline publishes, or a dead letter with this reason (as in the header `dead-letter-reason`). */
export type Expected<E> = { readonly outcome: E } | { readonly deadLetter: string };

/** A record for the source topic of a pipeline. */
export interface DemoRecord<E> {
  readonly key: string | null;
  readonly value: string | null;
  readonly expected: Expected<E>;
}

/** Produced and acknowledged records, by `<partition>-<offset>`. */
export type Ledger<E> = Map<string, DemoRecord<E>>;

export function coordinate(partition: number, offset: number | string): string {
  return `${partition}-${offset}`;
}

/** A record that the connector cannot submit. */
export function poison(
  reason: string,
  value: string | null,
  key: string | null = `poison/${reason}`,
): DemoRecord<never> {
  return { key, value, expected: { deadLetter: reason } };
}

/** As many good records as `count`, with the poison spread evenly among them. */
export async function* withPoison<E>(
  records: AsyncIterable<DemoRecord<E>>,
  count: number,
  poisoned: readonly DemoRecord<never>[],
): AsyncGenerator<DemoRecord<E>> {
  const every = Math.floor(count / poisoned.length);
  let index = 0;
  for await (const record of records) {
    const bad = index % every === 0 ? poisoned[index / every] : undefined;
    if (bad !== undefined) yield bad;
    yield record;
    index += 1;
    if (index === count) return;
  }
}
