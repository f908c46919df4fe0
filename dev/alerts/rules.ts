/** All Prometheus rules that the connector provides. */
import { stringify } from 'yaml';
import { RUNBOOK_URL } from '../../packages/client/src/base/version.ts';
import type { Alert, Group, Recording } from './alert.ts';
import { delivery } from './delivery.ts';
import { instances } from './instances.ts';
import { objective } from './objective.ts';
import { service } from './service.ts';

export const GROUPS: readonly Group[] = [objective, delivery, service, instances];

export const ALERTS: readonly Alert[] = GROUPS.flatMap(({ rules }) =>
  rules.filter((rule) => 'name' in rule),
);
export const RECORDINGS: readonly Recording[] = GROUPS.flatMap(({ rules }) =>
  rules.filter((rule) => 'record' in rule),
);

/** Rules file for Prometheus, used by the chart's PrometheusRule and by docker-compose.yaml. */
export const RULES_FILE = new URL(
  '../../helm/content-review-connector/files/alerts.yaml',
  import.meta.url,
);

export const runbookOf = ({ name }: Pick<Alert, 'name'>): string => `docs/runbook/${name}.md`;

/** Renders RULES_FILE. @param of groups to render */
export function rulesFile(of: readonly Group[] = GROUPS): string {
  const groups = of.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => ('record' in rule ? rule : yamlOf(rule))),
  }));
  const about =
    ' Generated from dev/alerts by `npm run generate`; do not edit.\n docs/runbook has a page for each alert.\n';
  return about.replace(/^/gm, '#').replace(/#$/, '') + stringify({ groups }, { lineWidth: 0 });
}

function yamlOf(alert: Alert): object {
  const { name, severity, summary, description } = alert;
  return {
    alert: name,
    expr: alert.expr,
    for: alert.for,
    labels: { severity },
    annotations: {
      summary,
      description,
      runbook_url: `${RUNBOOK_URL}${alert.name}.md`,
    },
  };
}
