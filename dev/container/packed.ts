/** The package as it is published, unpacked beside its production dependencies and nothing else: no sources, no tools, no .git. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

/**
 * Packs what was built before.
 * @param directory an empty directory.
 * @returns the package's root.
 * @throws Error when npm packs nothing.
 */
export function unpackPackage(
  repository: string,
  directory: string,
): { readonly root: string; readonly fileCount: number } {
  const options = [
    '--json',
    '--ignore-scripts',
    '--loglevel=error',
    '--pack-destination',
    directory,
  ];
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', ...options], { cwd: repository, encoding: 'utf8' }),
  );
  execFileSync('tar', ['-xzf', path.join(directory, packed.filename), '-C', directory]);
  const root = path.join(directory, 'package');
  for (const name of productionPackages(repository)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    cpSync(path.join(repository, name), path.join(root, name), { recursive: true });
  }
  return { root, fileCount: packed.files.length };
}

/** Their folders, as the lock file has them; those within another one's folder come with it. */
function productionPackages(repository: string): string[] {
  const lock = JSON.parse(readFileSync(path.join(repository, 'package-lock.json'), 'utf8'));
  return Object.entries(lock.packages as Record<string, Locked>)
    .filter(
      ([name, { dev, devOptional }]) =>
        /^node_modules\/(@[^/]+\/)?[^/]+$/.test(name) && !dev && !devOptional,
    )
    .map(([name]) => name);
}
