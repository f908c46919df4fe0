/** Alerts of the chart, evaluated by a Prometheus of the demo if this machine has one. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { abortable } from '../../packages/client/src/base/abortable.ts';
import type { Group } from '../alerts/alert.ts';
import { GROUPS, rulesFile } from '../alerts/rules.ts';
import { findPrometheus } from '../prometheus/install.ts';
import { type PrometheusServer, startPrometheus } from '../prometheus/server.ts';
import type { PartContext } from './parts.ts';
import type { Cell, Screen } from './screen.ts';

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
async function startAlerts(
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

/** Starts Prometheus if it is there, and shows the states of its alerts. */
export async function openAlerts(
  { directory, over }: PartContext,
  connectorUrl: string,
  cleanup: AsyncDisposableStack,
) {
  const starting = startAlerts(directory, connectorUrl);
  cleanup.defer(async () => (await starting.catch(() => undefined))?.stop());
  let none = 'none: this machine has no Prometheus (apt-get install prometheus)';
  const prometheus = await abortable(starting, over).catch((error: Error) => {
    over.throwIfAborted();
    none = `none: ${error.message.split('\n')[0]}`;
    return undefined;
  });
  let shown = new Map<string, string>();
  return {
    prometheus,
    /** Reports alerts that fire and that are resolved since the last call. */
    async cells(say: (text: string) => void, screen: Screen): Promise<Cell[]> {
      if (prometheus === undefined) return [{ text: none, style: 'dim' }];
      const states = new Map<string, string>();
      for (const { name, state } of await prometheus.alerts().catch(() => []))
        if (states.get(name) !== 'firing') states.set(name, state);
      const fires = (of: ReadonlyMap<string, string>, name: string) => of.get(name) === 'firing';
      for (const name of new Set([...states.keys(), ...shown.keys()])) {
        if (fires(states, name) && !fires(shown, name))
          say(`alert ${screen.paint('red', name)} fires: docs/runbook/${name}.md`);
        if (!fires(states, name) && fires(shown, name)) say(`alert ${name} is resolved`);
      }
      shown = states;
      if (states.size === 0) return [{ text: 'none', style: 'green' }];
      return [...states].map(([name, state]) => ({
        text: `${name.replace('ContentReview', '')} ${state}`,
        style: state === 'firing' ? 'red' : 'yellow',
      }));
    },
  };
}
