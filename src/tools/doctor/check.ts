/** A check: what it looks at, what it found, and what to do about it. */

export type Status = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  readonly status: Status;
  /** What was found; of what was skipped, why. Holds no content, key or signed address (I6). */
  readonly found: string;
  /** What to do. Absent when `found` says it, or nothing is wrong. */
  readonly remedy?: string | undefined;
}

export interface Check {
  /** What scripts know it by: `kafka.brokers`, `topic.source`. */
  readonly name: string;
  /** Absent: it is about the whole configuration. */
  readonly pipeline?: string | undefined;
  /** What is looked at: `topic content-events`. */
  readonly about: string;
  /** It is not tried unless these were well, or warned of. */
  readonly needs?: readonly Check[];
  /** It is tried when these are over, however they ended. */
  readonly after?: readonly Check[];
  /** It ends after this. Default CHECK_LIMIT_MS. */
  readonly limitMs?: number;
  /** What it throws is what it found: a failure. */
  run(signal: AbortSignal): Promise<Finding>;
}

export const CHECK_LIMIT_MS = 15_000;

export const ok = (found: string): Finding => ({ status: 'ok', found });
export const warning = (found: string, remedy?: string): Finding => ({
  status: 'warning',
  found,
  remedy,
});
export const failed = (found: string, remedy?: string): Finding => ({
  status: 'failed',
  found,
  remedy,
});
export const skipped = (found: string): Finding => ({ status: 'skipped', found });

/** Several findings about one thing as one: the worst decides, what is well is left out beside it. `well` is for when there are none. */
export function together(well: string, findings: readonly Finding[]): Finding {
  const wrong = findings.filter(({ status }) => status === 'failed' || status === 'warning');
  if (wrong.length === 0) return ok(well);
  const remedies = [
    ...new Set(wrong.flatMap(({ remedy }) => (remedy === undefined ? [] : [remedy]))),
  ];
  return {
    status: wrong.some(({ status }) => status === 'failed') ? 'failed' : 'warning',
    found: wrong.map(({ found }) => found).join('; '),
    remedy: remedies.length === 0 ? undefined : remedies.join('; '),
  };
}

/** `1 partition`, `2 partitions`. */
export const counted = (count: number, one: string): string =>
  `${count} ${one}${count === 1 ? '' : 's'}`;
