/** Checks references between alerts, runbook pages, the dashboard and metrics. */
import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ALERTS, RECORDINGS, RULES_FILE, runbookOf } from '../../../dev/alerts/rules.ts';
import { DASHBOARD_FILE, dashboardFile } from '../../../dev/dashboard/dashboard.ts';
import { METRICS, type MetricDefinition } from '../../../src/telemetry/metric-list.ts';
import { METRIC_PREFIX } from '../../../src/telemetry/metrics.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
/** Labels that Prometheus adds to every series, and the label of buckets. */
const GIVEN = new Set(['job', 'instance', 'namespace', 'pod', 'le']);
const PAGES = readdirSync(path.join(ROOT, 'docs/runbook')).filter((file) => file !== 'README.md');

test('each alert has a page, and each page has an alert', () => {
  assert.deepEqual(
    PAGES.map((page) => `docs/runbook/${page}`).toSorted(),
    ALERTS.map(runbookOf).toSorted(),
  );
});

test('every metric in documents, rules, dashboard and chart exists, with the labels of its selectors', () => {
  const metrics = new Map(
    Object.entries<MetricDefinition>(METRICS).map(([name, metric]) => [
      METRIC_PREFIX + name,
      metric,
    ]),
  );
  const records = new Set<string>(RECORDINGS.map(({ record }) => record));
  const problems: string[] = [];
  const chart = 'helm/content-review-connector';
  const generated = [RULES_FILE, DASHBOARD_FILE].map((file) =>
    path.relative(ROOT, fileURLToPath(file)),
  );
  const written = globSync(
    ['README.md', 'docs/**/*.md', `${chart}/{values.yaml,README.md,templates/**,ci/*,tests/*}`],
    {
      cwd: ROOT,
    },
  );
  for (const where of [...written.filter((file) => path.extname(file) !== ''), ...generated]) {
    const text = read(where);
    for (const [name, selector = ''] of text.matchAll(
      /\bcontent_review(?::\w+)+|\bcontent_review_\w+(\{[^}]*\})?/g,
    )) {
      const series = name.replace(/\{.*/s, '');
      if (records.has(series)) continue;
      const metric = metrics.get(series) ?? histogramOf(series, metrics);
      if (metric === undefined) problems.push(`${where}: ${series}`);
      for (const [, label = ''] of selector.matchAll(/([a-z]+)(?:=|!=)/g))
        if (
          metric !== undefined &&
          !GIVEN.has(label) &&
          !(metric.labels as readonly string[]).includes(label)
        )
          problems.push(`${where}: ${series} has no label ${label}`);
    }
  }
  assert.deepEqual(problems, []);
});

test('the dashboard groups by labels of its metrics, and its legends use the remaining labels', () => {
  const all = new Map(
    Object.entries<MetricDefinition>(METRICS).map(([name, metric]) => [
      METRIC_PREFIX + name,
      metric,
    ]),
  );
  const { panels } = JSON.parse(dashboardFile()) as {
    panels: { title: string; targets?: { expr: string; legendFormat: string }[] }[];
  };
  const problems = panels.flatMap(({ title, targets = [] }) =>
    targets.flatMap(({ expr, legendFormat }) => {
      const metrics = [...expr.matchAll(/\bcontent_review_\w+/g)].map(
        ([name]) => all.get(name) ?? histogramOf(name, all),
      );
      const has = new Set<string>([...GIVEN, ...metrics.flatMap((metric) => metric?.labels ?? [])]);
      const listed = (pattern: RegExp) =>
        [...expr.matchAll(pattern)].flatMap(([, names = '']) => names.split(', '));
      const by = listed(/ by \(([^)]+)\)/g);
      const legend = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      return [
        ...[...by, ...listed(/ignoring \(([^)]+)\)/g)].filter((label) => !has.has(label)),
        ...legend.filter((label) => !(by.length > 0 ? by.includes(label) : has.has(label))),
      ].map((label) => `${title}: ${label} in ${expr}`);
    }),
  );
  assert.deepEqual(problems, []);
});

function histogramOf(
  series: string,
  metrics: ReadonlyMap<string, MetricDefinition>,
): MetricDefinition | undefined {
  const metric = metrics.get(series.replace(/_(bucket|sum|count)$/, ''));
  return metric?.kind === 'histogram' ? metric : undefined;
}
