/** Two releases under one Prometheus, by Prometheus's own tool: the rules that the chart makes for one do not see the other. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { ensurePrometheus } from '../prometheus/install.ts';
import { execute } from './execute.ts';
import { documentsOf } from './schemas.ts';

interface Rule {
  readonly expr: string;
}

interface Release {
  readonly name: string;
  readonly namespace: string;
  readonly kind: 'PodMonitor' | 'ServiceMonitor';
  /** What the Prometheus Operator makes of that monitor. */
  readonly job: string;
}

/** Names that look like a metric's are not taken for one. */
const GONE: Release = {
  name: 'a',
  namespace: 'scale-up',
  kind: 'PodMonitor',
  job: 'scale-up/a-content-review-connector',
};
const THERE: Release = { name: 'b', namespace: 'review', kind: 'ServiceMonitor', job: 'b-content-review-connector' };

/** @throws Error with the output of promtool, or with the expression that asks for more than its release */
export async function checkTwoReleases(helm: string, chart: string, values: string, directory: string): Promise<void> {
  const { promtool } = await ensurePrometheus();
  const files = await Promise.all([GONE, THERE].map((release) => rulesOf(release, helm, chart, values, directory)));
  await execute(promtool, ['check', 'rules', ...files]);
  const test = path.join(directory, 'two-releases.yaml');
  writeFileSync(test, stringify({ rule_files: files, evaluation_interval: '1m', tests: [CASE] }));
  await execute(promtool, ['test', 'rules', test]);
}

async function rulesOf(release: Release, helm: string, chart: string, values: string, directory: string): Promise<string> {
  const { name, namespace, kind } = release;
  const sets = [
    'prometheusRule.enabled=true',
    'monitor.enabled=true',
    `monitor.kind=${kind}`,
    `prometheusRule.ruleLabels.of=${name}`,
  ];
  const { stdout } = await execute(helm, [
    ...['template', name, chart, '--namespace', namespace, '--values', values, '--show-only', 'templates/prometheusrule.yaml'],
    ...sets.flatMap((set) => ['--set', set]),
  ]);
  const [document] = documentsOf(stdout) as {
    readonly spec: { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
  }[];
  const groups = document?.spec.groups ?? [];
  const matchers = `{${labelsOf(release)}`;
  const wrong = groups
    .flatMap(({ rules }) => rules.map(({ expr }) => expr))
    .filter((expr) => /\b(up|(content_review|nodejs|process)[_:][\w:]+)(?![\w:]|\{@[,}])/.test(expr.replaceAll(matchers, '{@')));
  if (groups.length === 0 || wrong.length > 0) throw new Error(`not all of these ask for ${matchers}}:\n${wrong.join('\n')}`);
  const file = path.join(directory, `rules-${name}.yaml`);
  writeFileSync(file, stringify({ groups }));
  return file;
}

const labelsOf = ({ namespace, job }: Release) => `namespace="${namespace}",job="${job}"`;
const firing = (alert: string, release: Release, severity: string, more = '') => ({
  labels: `ALERTS{alertname="${alert}",alertstate="firing",severity="${severity}",of="${release.name}",${labelsOf(release)}${more}}`,
  value: 1,
});

/** One release vanishes. The other is late with every decision, and one of its instances is gone. */
const CASE = {
  interval: '1m',
  input_series: [
    [`content_review_build_info{${labelsOf(GONE)},instance="i"}`, '1x10'],
    [`up{${labelsOf(GONE)},instance="i"}`, '1x10'],
    [`content_review_build_info{${labelsOf(THERE)},instance="j"}`, '1x90'],
    [`content_review_build_info{${labelsOf(THERE)},instance="k"}`, '1x10'],
    [`up{${labelsOf(THERE)},instance="j"}`, '1x90'],
    [`up{${labelsOf(THERE)},instance="k"}`, '1x10 0x90'],
    [`content_review_event_to_decision_seconds_bucket{${labelsOf(THERE)},pipeline="p",le="3600"}`, '0x90'],
    [`content_review_event_to_decision_seconds_count{${labelsOf(THERE)},pipeline="p"}`, '0+10x90'],
  ].map(([series, values]) => ({ series, values })),
  promql_expr_test: [
    {
      expr: 'ALERTS{alertstate="firing"}',
      eval_time: '50m',
      exp_samples: [
        firing('ContentReviewAbsent', GONE, 'critical'),
        firing('ContentReviewInstanceDown', THERE, 'warning', ',instance="k"'),
        firing('ContentReviewLateDecisionsFast', THERE, 'critical', ',pipeline="p"'),
      ],
    },
    {
      expr: 'content_review:late_decisions:ratio_rate1h',
      eval_time: '50m',
      exp_samples: [{ labels: `content_review:late_decisions:ratio_rate1h{${labelsOf(THERE)},pipeline="p"}`, value: 1 }],
    },
  ],
};
