/** Suites, and selection of files by the command line. */
import { globSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Suites in the order in which they start. The suites that report failures soonest come first. */
export const SUITES = [
  'unit',
  'property',
  'conformance',
  'integration',
  'chaos',
  'memory',
  'clusters',
] as const;
export type Suite = (typeof SUITES)[number];
/** Suites that run only if they are named. */
export const ALONE: ReadonlySet<string> = new Set(['memory', 'clusters']);
const EVERYTHING = SUITES.filter((suite) => !ALONE.has(suite));

/** @param file path from `selectFiles` or name of a bundle, in `test/` of the root or of a package */
export const suiteOf = (file: string): Suite =>
  file.replace(/^packages\/\w+\//, '').split('/')[1] as Suite;

/** Returns the files to run. @throws Error if a name matches no file */
export function selectFiles(names: readonly string[]): string[] {
  const all = globSync(`{test,packages/*/test}/{${SUITES.join(',')}}/**/*.test.ts`, { cwd: ROOT });
  const wanted = new Set<string>();
  for (const name of names.length === 0 ? EVERYTHING : names) {
    const given = path.relative(ROOT, path.resolve(name)).split(path.sep).join('/');
    const matches = all.filter((file) =>
      (SUITES as readonly string[]).includes(name)
        ? suiteOf(file) === name
        : file === given || file.startsWith(`${given}/`),
    );
    // Without names, a suite may have no tests yet. A name from the command line must match.
    if (matches.length === 0 && names.length > 0)
      throw new Error(`no tests in "${name}": give ${SUITES.join(', ')}, a folder or a file`);
    for (const file of matches) wanted.add(file);
  }
  return [...wanted].sort();
}
