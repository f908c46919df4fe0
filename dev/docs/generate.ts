/** Writes the generated pages of docs/, config/connector.schema.json, and `config` in the chart's values.schema.json. Run it after changing the metric list or the configuration schema. */
import { writeFile } from 'node:fs/promises';
import { PAGES } from './pages.ts';

for (const page of PAGES) {
  await writeFile(page.file, page.render());
  process.stdout.write(`wrote ${page.file.pathname}\n`);
}
