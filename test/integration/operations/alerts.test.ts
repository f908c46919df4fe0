/** Tests of the alerts with Prometheus's promtool. */
import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { Alert } from '../../../dev/alerts/alert.ts';
import { ALERTS, GROUPS, RULES_FILE, rulesFile } from '../../../dev/alerts/rules.ts';
import { dashboard } from '../../../dev/dashboard/dashboard.ts';
import { execute } from '../../../dev/helm/execute.ts';
import { ensurePrometheus } from '../../support/prometheus/install.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { CASES, type Case, OBJECTIVE } from './alert-cases.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const { promtool } = await ensurePrometheus();
const directory = temporaryDirectory();

test('promtool accepts the rules', async () => {
  await execute(promtool, ['check', 'rules', fileURLToPath(RULES_FILE)]);
});

test('the expressions of the runbook and the dashboard are valid', async () => {
  const pages = globSync('docs/runbook/*.md', { cwd: ROOT }).map((page) =>
    readFileSync(path.join(ROOT, page), 'utf8'),
  );
  const ofPages = pages.flatMap((page) =>
    [...page.matchAll(/^prom '(.+)'$/gm)].map(([, expr = '']) => expr),
  );
  assert.ok(ofPages.length > pages.length, `${ofPages.length}`);
  const ofPanels = (dashboard().panels ?? []).flatMap(
    (panel) => (panel as { readonly targets?: { readonly expr: string }[] }).targets ?? [],
  );
  assert.ok(ofPanels.length > 0);
  const expressions = [
    ...ofPages,
    // Replaces Grafana's variables, which stand for durations.
    ...ofPanels.map(({ expr }) => expr.replaceAll(/\$__(?:rate_interval|range)\b/g, '1m')),
  ];
  const file = path.join(directory, 'expressions.yaml');
  const rules = expressions.map((expr, at) => ({ record: `expression:${at}`, expr }));
  writeFileSync(file, stringify({ groups: [{ name: 'expressions', rules }] }));
  await execute(promtool, ['check', 'rules', file]);
});

test('each alert has histories on which it must and must not fire', () => {
  assert.deepEqual(Object.keys(CASES).toSorted(), ALERTS.map(({ name }) => name).toSorted());
});

test('each alert fires exactly on the histories on which it must', async () => {
  const files = ALERTS.map((alert) => {
    const {
      fires,
      quiet,
      step = '1m',
    } = CASES[alert.name] ?? assert.fail(`no case for ${alert.name}`);
    const tests = [fires, quiet].flat().map((one) => testOf(alert, one, step));
    const file = path.join(directory, `${alert.name}.yaml`);
    writeFileSync(
      file,
      stringify({ rule_files: [rulesOf(alert)], evaluation_interval: step, tests }),
    );
    return file;
  });
  await execute(promtool, ['test', 'rules', ...files]);
});

/**
 * Writes a rule file with only this alert and its recordings. Evaluating all rules at each step would take most of a
 * minute.
 */
function rulesOf(alert: Alert): string {
  const groups = GROUPS.filter(({ rules }) => rules.includes(alert)).map(({ name, rules }) => ({
    name,
    rules: rules.filter(
      (rule) => rule === alert || ('record' in rule && alert.expr.includes(rule.record)),
    ),
  }));
  const file = path.join(directory, `${alert.name}-rules.yaml`);
  writeFileSync(file, rulesFile(groups));
  return file;
}

function testOf({ name, severity }: Alert, { series, at, labels }: Case, interval: string): object {
  const expected = [
    `alertname="${name}"`,
    'alertstate="firing"',
    ...(labels ?? []),
    `severity="${severity}"`,
  ].join(',');
  return {
    interval,
    input_series: Object.entries({ ...OBJECTIVE, ...series }).map(([one, values]) => ({
      series: /^up\b/.test(one) ? one : `content_review_${one}`,
      values,
    })),
    promql_expr_test: [at].flat().map((time) => ({
      expr: `ALERTS{alertname="${name}",alertstate="firing"}`,
      eval_time: time,
      exp_samples: labels === undefined ? [] : [{ labels: `ALERTS{${expected}}`, value: 1 }],
    })),
  };
}
