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
  /** Values of the chart. */
  readonly sets: readonly string[];
  /** Matchers that its rules should have, and what its series bear. */
  readonly labels: string;
}

interface Pair {
  /** It vanishes. */
  readonly gone: Release;
  /** It is late with every decision, and one of its instances is gone. */
  readonly there: Release;
}

/** Found by what the Prometheus Operator makes of the monitor. Names that look like a metric's are not taken for one. */
const BY_MONITOR: Pair = {
  gone: {
    name: 'a',
    namespace: 'scale-up',
    sets: ['monitor.enabled=true', 'monitor.kind=PodMonitor'],
    labels: 'namespace="scale-up",job="scale-up/a-content-review-connector"',
  },
  there: {
    name: 'b',
    namespace: 'review',
    sets: ['monitor.enabled=true', 'monitor.kind=ServiceMonitor'],
    labels: 'namespace="review",job="b-content-review-connector"',
  },
};

/** By labels that the rules do not group by: the recorded series still have them. */
const selected = (name: string): Release => {
  const labels = `job="c",release="${name}",team="up, x=y"`;
  return {
    name,
    namespace: 'review',
    sets: [`prometheusRule.selector=${labels.replaceAll(',', '\\,')}`],
    labels,
  };
};
const BY_SELECTOR: Pair = { gone: selected('a'), there: selected('b') };

/** @throws Error with the output of promtool, or with the expression that asks for more than its release */
export async function checkTwoReleases(
  helm: string,
  chart: string,
  values: string,
  directory: string,
): Promise<void> {
  const { promtool } = await ensurePrometheus();
  const tests = Object.entries({ 'by-monitor': BY_MONITOR, 'by-selector': BY_SELECTOR }).map(
    async ([found, pair]) => {
      const files = await Promise.all(
        [pair.gone, pair.there].map(async (release) => {
          const file = path.join(directory, `rules-${found}-${release.name}.yaml`);
          writeFileSync(file, stringify({ groups: await rulesOf(release, helm, chart, values) }));
          return file;
        }),
      );
      await execute(promtool, ['check', 'rules', ...files]);
      const test = path.join(directory, `${found}.yaml`);
      writeFileSync(
        test,
        stringify({ rule_files: files, evaluation_interval: '1m', tests: [historyOf(pair)] }),
      );
      await execute(promtool, ['test', 'rules', test]);
    },
  );
  await Promise.all(tests);
}

async function rulesOf(
  { name, namespace, sets, labels }: Release,
  helm: string,
  chart: string,
  values: string,
): Promise<readonly object[]> {
  const { stdout } = await execute(helm, [
    ...[
      'template',
      name,
      chart,
      '--namespace',
      namespace,
      '--values',
      values,
      '--show-only',
      'templates/prometheusrule.yaml',
    ],
    ...['prometheusRule.enabled=true', `prometheusRule.ruleLabels.of=${name}`, ...sets].flatMap(
      (set) => ['--set', set],
    ),
  ]);
  const [document] = documentsOf(stdout) as {
    readonly spec: { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
  }[];
  const groups = document?.spec.groups ?? [];
  const matchers = `{${labels}`;
  const wrong = groups
    .flatMap(({ rules }) => rules.map(({ expr }) => expr))
    .filter((expr) =>
      /\b(up|(content_review|nodejs|process)[_:][\w:]+)(?![\w:]|\{@[,}])/.test(
        expr.replaceAll(matchers, '{@'),
      ),
    );
  if (groups.length === 0 || wrong.length > 0)
    throw new Error(`not all of these ask for ${matchers}}:\n${wrong.join('\n')}`);
  return groups;
}

const firing = (alert: string, release: Release, severity: string, more = '') => ({
  labels: `ALERTS{alertname="${alert}",alertstate="firing",severity="${severity}",of="${release.name}",${release.labels}${more}}`,
  value: 1,
});

const historyOf = ({ gone, there }: Pair) => ({
  interval: '1m',
  input_series: [
    [`content_review_build_info{${gone.labels},instance="i"}`, '1x10'],
    [`up{${gone.labels},instance="i"}`, '1x10'],
    [`content_review_build_info{${there.labels},instance="j"}`, '1x90'],
    [`content_review_build_info{${there.labels},instance="k"}`, '1x10'],
    [`up{${there.labels},instance="j"}`, '1x90'],
    [`up{${there.labels},instance="k"}`, '1x10 0x90'],
    [`content_review_objective_in_time_ratio{${there.labels},pipeline="p"}`, '0.99x90'],
    [`content_review_decisions_late_total{${there.labels},pipeline="p"}`, '0+10x90'],
    [`content_review_decisions_total{${there.labels},pipeline="p"}`, '0+10x90'],
    [
      `content_review_decision_results_total{${there.labels},pipeline="p",result="spam"}`,
      '0+10x90',
    ],
  ].map(([series, values]) => ({ series, values })),
  promql_expr_test: [
    {
      expr: 'ALERTS{alertstate="firing"}',
      eval_time: '50m',
      exp_samples: [
        firing('ContentReviewAbsent', gone, 'critical'),
        firing('ContentReviewNotReady', there, 'critical', ',instance="k"'),
        firing('ContentReviewLateDecisionsFast', there, 'critical', ',pipeline="p"'),
      ],
    },
    {
      expr: 'content_review:late_decisions:ratio_rate1h',
      eval_time: '50m',
      exp_samples: [
        {
          labels: `content_review:late_decisions:ratio_rate1h{${there.labels},pipeline="p"}`,
          value: 1,
        },
      ],
    },
    {
      expr: 'content_review:decision_results:share6h',
      eval_time: '50m',
      exp_samples: [
        {
          labels: `content_review:decision_results:share6h{${there.labels},pipeline="p",result="spam"}`,
          value: 1,
        },
      ],
    },
  ],
});
