/** Grafana dashboard, built from rows.ts. */
import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { chart, DATASOURCE, stat } from './panels.ts';
import { ROWS } from './rows.ts';

/** Dashboard file for Grafana. The chart's ConfigMap and docker-compose.yaml use this directory. */
export const DASHBOARD_FILE = new URL(
  '../../helm/content-review-connector/files/dashboards/content-review-connector.json',
  import.meta.url,
);

export function dashboard(): Dashboard {
  const builder = new DashboardBuilder('Content Review Connector')
    .uid('content-review-connector')
    .description('Generated from dev/dashboard by `npm run generate`.')
    .tags(['content-review', 'kafka'])
    .timezone('browser')
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .editable()
    .tooltip(DashboardCursorSync.Crosshair)
    .withVariable(
      new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'),
    )
    .withVariable(choice('job', 'Job', 'label_values(content_review_build_info, job)'))
    .withVariable(
      choice(
        'instance',
        'Instance',
        'label_values(content_review_build_info{job=~"$job"}, instance)',
      ),
    )
    .withVariable(
      choice(
        'pipeline',
        'Pipeline',
        'label_values(content_review_shards_owned{job=~"$job"}, pipeline)',
      ),
    );
  let id = 0;
  for (const { title, stats = [], charts } of ROWS) {
    builder.withRow(new RowBuilder(title).id(++id));
    for (const spec of stats) builder.withPanel(stat(++id, spec));
    const width = charts.length === 2 || charts.length === 4 ? 12 : 8;
    for (const spec of charts) builder.withPanel(chart(++id, { width, ...spec }));
  }
  return builder.build();
}

function choice(name: string, label: string, query: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ selected: true, text: ['All'], value: ['$__all'] });
}

/** Renders DASHBOARD_FILE. */
export const dashboardFile = (): string => `${JSON.stringify(dashboard(), null, 2)}\n`;
