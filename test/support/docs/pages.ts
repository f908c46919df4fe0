/** Pages of the documentation, grouped by what their commands need. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Step, stepsOf } from './steps.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Paths of all pages, relative to the root. */
export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync(['{docs,examples}/**/*.md', 'packages/*/README.md'], {
    cwd: ROOT,
    exclude: (name) => name === 'node_modules',
  }).sort(),
];

/** @throws Error that names the page and the line of a block whose marks are unknown */
export function stepsOfPage(page: string): Step[] {
  try {
    return stepsOf(readFileSync(path.join(ROOT, page), 'utf8'));
  } catch (error) {
    throw new Error(`${page}, ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The page that starts its own broker, followed by the pages that continue with its pipeline. They run as one session. */
export const FIRST_PAGES = [
  'docs/getting-started.md',
  'docs/tools.md',
  'docs/doctor.md',
  'docs/delivery.md',
  'docs/control.md',
  'docs/mapping.md',
  'examples/README.md',
];

/** Returns the pages with commands to run, except FIRST_PAGES. */
export function pagesToRun({ withKafka }: { readonly withKafka: boolean }): string[] {
  return PAGES.filter((page) => {
    const steps = stepsOfPage(page).filter(({ kind }) => kind === 'run' || kind === 'background');
    const usesKafka = steps.some(({ text }) => /KAFKA_BROKERS|npm run kafka|:9092/.test(text));
    return !FIRST_PAGES.includes(page) && steps.length > 0 && usesKafka === withKafka;
  });
}
