/**
 * Parts of an alert; helm/content-review-connector/files/alerts.yaml is made from these by
 * generate.ts.
 */

export interface Alert {
  /** Also the name of its page: docs/runbook/<name>.md. */
  readonly name: `ContentReview${string}`;
  /** critical: act now. warning: look within the day. */
  readonly severity: 'critical' | 'warning';
  /**
   * PromQL over metrics of the connector, of Node and `up`; the chart puts matchers for its release
   * at those names.
   */
  readonly expr: string;
  /** Duration for which the expression must hold. */
  readonly for: string;
  /** One line: what is wrong, and where. A template of Prometheus. */
  readonly summary: string;
  /** Meaning for users, as a template of Prometheus. */
  readonly description: string;
}

export interface Recording {
  readonly record: `content_review:${string}`;
  readonly expr: string;
}

export interface Group {
  readonly name: string;
  readonly rules: readonly (Recording | Alert)[];
}

/**
 * Labels that distinguish the pipelines of a Prometheus; labels that it does not have are left out.
 */
export const PIPELINE = 'namespace, job, pipeline';

/**
 * Minutes of the last `ofMinutes` in which a vector was above 0, per series. Minutes without data
 * count as 0, so that a new series does not look like a permanent one. Some versions of Prometheus
 * count one more than `ofMinutes`.
 */
export const minutesAbove0 = (vector: string, ofMinutes: number): string =>
  `sum_over_time((${vector} > bool 0)[${ofMinutes}m:1m])`;

/**
 * Part of a pipeline's objective (`objective` in docs/configuration.md). The replica that reports it
 * may be restarting.
 */
export const objectiveOf = (part: 'age_seconds' | 'in_time_ratio'): string =>
  `max by (${PIPELINE}) (last_over_time(content_review_objective_${part}[5m]))`;

/** One expression in one line. */
export function expr(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: parts }, ...values)
    .replace(/\s+/g, ' ')
    .replace(/\( /g, '(')
    .replace(/ \)/g, ')')
    .trim();
}

/**
 * Waits of a pipeline for a reason in more than `minutes` of the last `of`, also when one instance
 * replaces another. A share of time, since short waits are normal, and not the number of waiters,
 * which depends on the number of shards.
 */
export const waited = (
  reasons: string,
  { minutes, of }: { readonly minutes: number; readonly of: number },
): string =>
  `${minutesAbove0(`max by (${PIPELINE}, reason) (content_review_shards_paused{reason=~"${reasons}"})`, of)} > ${minutes}`;
