import {
  CONFIG_SCHEMA,
  configSchemaFile,
  VALUES_SCHEMA,
  valuesSchemaFile,
} from './config-schema.ts';
import { configurationPage } from './configuration-page.ts';
import { failuresPage } from './failures-page.ts';
import { metricsPage } from './metrics-page.ts';
import { outcomesPage } from './outcomes-page.ts';

export interface GeneratedPage {
  readonly file: URL;
  render(): string;
}

/** All generated files of docs/ and config/, and the generated part of the chart. Tests compare the files with these. */
export const PAGES: readonly GeneratedPage[] = [
  { file: new URL('../../docs/metrics.md', import.meta.url), render: metricsPage },
  { file: new URL('../../docs/configuration.md', import.meta.url), render: configurationPage },
  { file: new URL('../../docs/failures.md', import.meta.url), render: failuresPage },
  { file: CONFIG_SCHEMA, render: configSchemaFile },
  { file: new URL('../../docs/outcomes.md', import.meta.url), render: outcomesPage },
  { file: VALUES_SCHEMA, render: valuesSchemaFile },
];
