/** What an alert is made of: helm/content-review-connector/files/alerts.yaml is made from these by generate.ts. */

export interface Alert {
  /** Also the name of its page: docs/runbook/<name>.md. */
  readonly name: `ContentReview${string}`;
  /** critical: somebody gets up. warning: somebody looks within the day. */
  readonly severity: 'critical' | 'warning';
  readonly expr: string;
  /** How long it must hold. */
  readonly for: string;
  /** One line: what is wrong, and where. A template of Prometheus. */
  readonly summary: string;
  /** What it means for users. A template of Prometheus. */
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

/** What tells one pipeline of one deployment from others; a label that a Prometheus does not have is left out. */
export const PIPELINE = 'namespace, job, pipeline';

/** One expression in one line. */
export function expr(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: parts }, ...values)
    .replace(/\s+/g, ' ')
    .replace(/\( /g, '(')
    .replace(/ \)/g, ')')
    .trim();
}
