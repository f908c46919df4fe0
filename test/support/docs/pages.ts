/** Pages of the documentation, by what their commands need. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Step, stepsOf } from './steps.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Every page, below the root. */
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

/** The page that starts its own broker, and those that continue its pipeline: one session. */
export const FIRST_PAGES = [
  'docs/getting-started.md',
  'docs/tools.md',
  'docs/doctor.md',
  'docs/delivery.md',
  'docs/control.md',
  'docs/mapping.md',
  'examples/README.md',
];

/** Pages with commands to run, other than the first. */
export function pagesToRun({ withKafka }: { readonly withKafka: boolean }): string[] {
  return PAGES.filter((page) => {
    const steps = stepsOfPage(page).filter(({ kind }) => kind === 'run' || kind === 'background');
    const usesKafka = steps.some(({ text }) => /KAFKA_BROKERS|npm run kafka|:9092/.test(text));
    return !FIRST_PAGES.includes(page) && steps.length > 0 && usesKafka === withKafka;
  });
}
