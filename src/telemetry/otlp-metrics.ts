/** Metrics of prom-client in OpenTelemetry's data model. */
import { type HrTime, ValueType } from '@opentelemetry/api';
import type {
  AggregationTemporality,
  DataPoint,
  DataPointType,
  HistogramMetricData,
  MetricData,
} from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValueWithName } from 'prom-client';

type RegistryMetric = MetricObjectWithValues<MetricValueWithName<string>>;
type Sample = RegistryMetric['values'][number];
type HistogramPoint = HistogramMetricData['dataPoints'][number];

// Values of the SDK's enumerations. Only its types are imported, because it is an optional package.
const CUMULATIVE: AggregationTemporality.CUMULATIVE = 1;
const HISTOGRAM: DataPointType.HISTOGRAM = 0;
const GAUGE: DataPointType.GAUGE = 2;
const SUM: DataPointType.SUM = 3;

/** Converts the metrics of a registry. @param startMs time in ms since the epoch at which all counters were 0 */
export function otlpMetrics(metrics: readonly RegistryMetric[], startMs: number, nowMs: number) {
  const times = { startTime: hrTime(startMs), endTime: hrTime(nowMs) };
  const point = <T>(labels: Sample['labels'], value: T): DataPoint<T> => {
    const attributes = Object.entries(labels).map(([name, label]) => [name, String(label)]);
    return { ...times, attributes: Object.fromEntries(attributes), value };
  };
  return metrics.map(({ name, help, type, values }): MetricData => {
    // Names contain the unit, and collectors would otherwise append it again.
    const descriptor = { name, description: help, unit: '', valueType: ValueType.DOUBLE };
    const common = { descriptor, aggregationTemporality: CUMULATIVE };
    // prom-client declares the type as a number.
    if (String(type) === 'histogram') {
      const dataPoints = histograms(values).map(([labels, value]) => point(labels, value));
      return { ...common, dataPointType: HISTOGRAM, dataPoints };
    }
    const dataPoints = values.map(({ labels, value }) => point(labels, value));
    return String(type) === 'counter'
      ? { ...common, dataPointType: SUM, isMonotonic: true, dataPoints }
      : { ...common, dataPointType: GAUGE, dataPoints };
  });
}

/** Returns the series of a histogram. For each, prom-client lists the cumulative buckets, the sum and the count. */
function histograms(samples: readonly Sample[]): [Sample['labels'], HistogramPoint['value']][] {
  const series: ReturnType<typeof histograms> = [];
  let buckets = { boundaries: [] as number[], counts: [] as number[] };
  let [below, sum] = [0, 0];
  for (const { metricName, labels, value } of samples) {
    if (metricName?.endsWith('_bucket')) {
      buckets.counts.push(value - below);
      below = value;
      if (typeof labels.le === 'number') buckets.boundaries.push(labels.le);
    } else if (metricName?.endsWith('_sum')) sum = value;
    else {
      series.push([labels, { buckets, sum, count: value }]);
      buckets = { boundaries: [], counts: [] };
      below = 0;
    }
  }
  return series;
}

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1_000), (ms % 1_000) * 1e6];
