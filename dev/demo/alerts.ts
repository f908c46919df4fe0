/** Alerts of the chart, evaluated by a Prometheus of the demo if this machine has one. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Group } from '../alerts/alert.ts';
import { GROUPS, rulesFile } from '../alerts/rules.ts';
import { findPrometheus } from '../prometheus/install.ts';
import { type PrometheusServer, startPrometheus } from '../prometheus/server.ts';

/** Divides every window and wait of the rules: an alert that takes ten minutes fires after 30 s. */
export const FASTER = 20;

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
type Unit = keyof typeof UNIT_MS;

const divided = (amount: string, unit: string): string =>
  `${(Number(amount) * UNIT_MS[unit as Unit]) / FASTER}ms`;

/** Rules with all their durations divided by FASTER; limits on the age of events and batches stay. */
export function fasterRules(groups: readonly Group[]): Group[] {
  const expr = (text: string) =>
    text.replace(/(?<=\[|\[\w+:|\boffset )(\d+)([smhdw])\b/g, (_, amount: string, unit: string) =>
      divided(amount, unit),
    );
  return groups.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) =>
      'record' in rule
        ? { ...rule, expr: expr(rule.expr) }
        : {
            ...rule,
            expr: expr(rule.expr),
            for: rule.for.replace(/^(\d+)([smhdw])$/, (_, amount, unit) => divided(amount, unit)),
          },
    ),
  }));
}

/** @returns undefined without a Prometheus on this machine. @throws Error with its log when it does not start */
export async function startAlerts(
  directory: string,
  connectorUrl: string,
): Promise<PrometheusServer | undefined> {
  if (findPrometheus() === undefined) return undefined;
  const home = path.join(directory, 'prometheus');
  const rules = path.join(home, 'alerts.yaml');
  mkdirSync(home, { recursive: true });
  writeFileSync(rules, rulesFile(fasterRules(GROUPS)));
  return await startPrometheus({
    directory: home,
    target: new URL(connectorUrl).host,
    job: 'connector',
    rules: [rules],
  });
}
