/**
 * Parts of an alert, from which generate.ts writes helm/content-review-connector/files/alerts.yaml.
 */

export interface Alert {
  /** Name of the alert and of its page: docs/runbook/<name>.md. */
  readonly name: `ContentReview${string}`;
  /** critical: act now. warning: look into it within the day. */
  readonly severity: 'critical' | 'warning';
  /** PromQL over `up` and the metrics of the connector and of Node. The chart adds matchers to it. */
  readonly expr: string;
  /** Duration for which the expression must hold. */
  readonly for: string;
  /** One line that states what is wrong, and where. A Prometheus template. */
  readonly summary: string;
  /** Meaning for users. A Prometheus template. */
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

/** Labels that distinguish pipelines. Prometheus ignores labels that its series do not have. */
export const PIPELINE = 'namespace, job, pipeline';

/**
 * Returns the number of minutes, of the last `ofMinutes`, in which a vector was above 0, by series.
 * Minutes without data count as 0, so that a new series does not look permanent. Some Prometheus
 * versions return one minute more.
 */
export const minutesAbove0 = (vector: string, ofMinutes: number): string =>
  `sum_over_time((${vector} > bool 0)[${ofMinutes}m:1m])`;

/**
 * Part of a pipeline's objective (`objective` in docs/configuration.md). Remains available while
 * the replica that reports it restarts.
 */
export const objectiveOf = (part: 'age_seconds' | 'in_time_ratio'): string =>
  `max by (${PIPELINE}) (last_over_time(content_review_objective_${part}[5m]))`;

/** Returns an expression on one line. */
export function expr(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: parts }, ...values)
    .replace(/\s+/g, ' ')
    .replace(/\( /g, '(')
    .replace(/ \)/g, ')')
    .trim();
}

/**
 * Selects pipelines that waited for a reason in more than `minutes` of the last `of` minutes, even if one
 * instance replaced another. Short waits are normal, so the duration counts. The number of waiters does not
 * count, because it depends on the number of shards.
 */
export const waited = (
  reasons: string,
  { minutes, of }: { readonly minutes: number; readonly of: number },
): string =>
  `${minutesAbove0(`max by (${PIPELINE}, reason) (content_review_shards_paused{reason=~"${reasons}"})`, of)} > ${minutes}`;
