/** Appearance of panels. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import * as common from '@grafana/grafana-foundation-sdk/common';
import {
  type Panel,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

export const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

export interface PanelSpec {
  readonly title: string;
  /** Description: the quantity shown and its interpretation. */
  readonly about: string;
  /** Unit name of Grafana: s, bytes, ops, percentunit, short, … */
  readonly unit: string;
  /** Pairs of legend and expression. A legend is a template over labels. */
  readonly lines: readonly (readonly [legend: string, expr: string])[];
  /** Width in columns of 24; default 8. */
  readonly width?: number;
  readonly stacked?: boolean;
  /** Values from which the panel turns orange and red. */
  readonly limits?: readonly [warn: number, bad: number];
  /** True for a logarithmic axis, for durations from milliseconds to a day. */
  readonly logarithmic?: boolean;
}

export interface Row {
  readonly title: string;
  readonly stats?: readonly PanelSpec[];
  readonly charts: readonly PanelSpec[];
}

export function chart(id: number, spec: PanelSpec): Builder<Panel> {
  const { title, about, unit, width = 8, lines, stacked = false, logarithmic = false } = spec;
  const panel = new TimeseriesBuilder()
    .id(id)
    .title(title)
    .description(about)
    .datasource(DATASOURCE)
    .unit(unit)
    .span(width)
    .height(8)
    .lineWidth(1)
    .fillOpacity(stacked ? 30 : 8)
    .showPoints(common.VisibilityMode.Never)
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(
      new common.VizTooltipOptionsBuilder()
        .mode(common.TooltipDisplayMode.Multi)
        .sort(common.SortOrder.Descending),
    );
  if (logarithmic)
    panel.scaleDistribution(
      new common.ScaleDistributionConfigBuilder().type(common.ScaleDistribution.Log).log(10),
    );
  else panel.min(0);
  if (stacked) panel.stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal));
  for (const query of queries(lines)) panel.withTarget(query.range());
  return panel;
}

/** Returns a panel of current numbers. */
export function stat(id: number, spec: PanelSpec): Builder<Panel> {
  const { title, about, unit, width = 6, lines, limits } = spec;
  const panel = new StatBuilder()
    .id(id)
    .title(title)
    .description(about)
    .datasource(DATASOURCE)
    .unit(unit)
    .span(width)
    .height(4)
    .graphMode(common.BigValueGraphMode.None)
    .colorMode(
      limits === undefined ? common.BigValueColorMode.None : common.BigValueColorMode.Value,
    )
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']));
  if (limits !== undefined) panel.thresholds(thresholds(limits));
  for (const query of queries(lines)) panel.withTarget(query.instant());
  return panel;
}

/** Returns colour thresholds. If `bad` is below `warn`, low values are bad. */
function thresholds([warn, bad]: readonly [number, number]): ThresholdsConfigBuilder {
  const [low, high, lowest, highest] =
    warn <= bad ? [warn, bad, 'green', 'red'] : [bad, warn, 'red', 'green'];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
    { value: null, color: lowest },
    { value: low, color: 'orange' },
    { value: high, color: highest },
  ]);
}

function queries(lines: PanelSpec['lines']): DataqueryBuilder[] {
  return lines.map(([legend, expr], at) =>
    new DataqueryBuilder()
      .refId(String.fromCharCode(65 + at))
      .datasource(DATASOURCE)
      .expr(expr)
      .legendFormat(legend)
      .range(),
  );
}
