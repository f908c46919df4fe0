/** Expressions of the dashboard. Their metric names are typed, so an unknown name does not compile. */
import {
  METRICS,
  type MetricDefinition,
  type MetricName,
} from '../../src/telemetry/metric-list.ts';
import { METRIC_PREFIX } from '../../src/telemetry/metrics.ts';

type NamesOf<K extends MetricDefinition['kind']> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never;
}[MetricName];
export type Histogram = NamesOf<'histogram'>;

const EVERYWHERE = 'job=~"$job",instance=~"$instance"';

/** Returns the series selected by the dashboard's variables. @param extra additional matchers */
export function series(
  name: MetricName,
  extra = '',
  ending: '' | '_bucket' | '_sum' | '_count' = '',
): string {
  const { labels }: MetricDefinition = METRICS[name];
  const matchers = [
    EVERYWHERE,
    labels.includes('pipeline') ? 'pipeline=~"$pipeline"' : '',
    extra,
  ].filter((one) => one !== '');
  return `${METRIC_PREFIX}${name}${ending}{${matchers.join(',')}}`;
}

/**
 * Firing alerts within the selection of the variables. Alerts about an instance have no pipeline,
 * and some alerts have neither an instance nor a job.
 */
export const FIRING =
  'ALERTS{alertname=~"ContentReview.+",alertstate="firing",job=~"$job|",instance=~"$instance|",pipeline=~"$pipeline|"}';

/** Series of the Node process. */
export const nodeSeries = (name: `nodejs_${string}` | `process_${string}`): string =>
  `${name}{${EVERYWHERE}}`;

export const sum = (by: string, expression: string): string =>
  by === '' ? `sum(${expression})` : `sum by (${by}) (${expression})`;

/** Rate per second. */
export const rate = (name: NamesOf<'counter'>, by: string, extra = ''): string =>
  sum(by, `rate(${series(name, extra)}[$__rate_interval])`);

export const gauge = (name: NamesOf<'gauge'>, by: string, extra = ''): string =>
  sum(by, series(name, extra));

export const quantile = (q: number, name: Histogram, by: string): string =>
  `histogram_quantile(${q}, ${sum(by === '' ? 'le' : `${by}, le`, `rate(${series(name, '', '_bucket')}[$__rate_interval])`)})`;

export const mean = (name: Histogram, by: string): string =>
  `${sum(by, `rate(${series(name, '', '_sum')}[$__rate_interval])`)} / ${sum(by, `rate(${series(name, '', '_count')}[$__rate_interval])`)}`;

/** Seconds since the oldest of these timestamps. */
export const age = (name: NamesOf<'gauge'>, by: string): string =>
  `time() - min by (${by}) (${series(name)})`;

/** Shows 0 where missing data are legitimate: no failures, no waits. */
export const orZero = (expression: string): string => `(${expression}) or on () vector(0)`;
