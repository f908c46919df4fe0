/** Writes all generated files: pages, schemas, types, alerts, dashboard. Tests compare the files with these. */
import { writeFileSync } from 'node:fs';
import { RULES_FILE, rulesFile } from './alerts/rules.ts';
import { DECLARATIONS, renderedDeclarations } from './contracts/declarations.ts';
import { DASHBOARD_FILE, dashboardFile } from './dashboard/dashboard.ts';
import {
  CONFIG_SCHEMA,
  configSchemaFile,
  VALUES_SCHEMA,
  valuesSchemaFile,
} from './docs/config-schema.ts';
import { configurationPage } from './docs/configuration-page.ts';
import { failuresPage } from './docs/failures-page.ts';
import { metricsPage } from './docs/metrics-page.ts';
import { outcomesPage } from './docs/outcomes-page.ts';

const page = (name: string): URL => new URL(`../docs/${name}.md`, import.meta.url);

export const GENERATED: readonly { readonly file: URL; render(): string }[] = [
  { file: page('metrics'), render: metricsPage },
  { file: page('configuration'), render: configurationPage },
  { file: page('failures'), render: failuresPage },
  { file: page('outcomes'), render: outcomesPage },
  { file: CONFIG_SCHEMA, render: configSchemaFile },
  { file: VALUES_SCHEMA, render: valuesSchemaFile },
  { file: RULES_FILE, render: rulesFile },
  { file: DASHBOARD_FILE, render: dashboardFile },
  { file: DECLARATIONS, render: renderedDeclarations },
];

if (import.meta.main) {
  for (const { file, render } of GENERATED) {
    writeFileSync(file, render());
    process.stdout.write(`wrote ${file.pathname}\n`);
  }
}
