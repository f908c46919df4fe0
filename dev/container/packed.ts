/** Published form of a package, unpacked together with its dependencies only: no sources, no tools, no .git. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/**
 * Packs a built package by running `npm pack` in its folder.
 * @param source folder of its package.json: the repository or a folder in it
 * @param directory an empty directory
 * @param onUnpacked called with the package's root before its dependencies are added
 * @returns the package's root, and the number of its files
 * @throws Error if npm packs nothing
 */
export function unpackPackage(
  repository: string,
  source: string,
  directory: string,
  onUnpacked: (root: string) => void = () => {},
): { readonly root: string; readonly fileCount: number } {
  const options = ['--json', '--loglevel=error', '--pack-destination', directory];
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', ...options], { cwd: source, encoding: 'utf8' }),
  );
  execFileSync('tar', ['-xzf', path.join(directory, packed.filename), '-C', directory]);
  const root = path.join(directory, 'package');
  onUnpacked(root);
  for (const name of dependenciesOf(repository, source)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    cpSync(path.join(repository, name), path.join(root, name), { recursive: true });
  }
  return { root, fileCount: packed.files.length };
}

/** Returns the folders of all direct and indirect dependencies in the lock file, without nested folders. */
function dependenciesOf(repository: string, source: string): string[] {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
  const lock = read(path.join(repository, 'package-lock.json')).packages as Record<string, Locked>;
  const folders = new Set<string>();
  const add = ({ dependencies = {} }: Locked, within: string): void => {
    for (const name of Object.keys(dependencies)) {
      const nested = `${within}/node_modules/${name}`;
      const folder = nested in lock ? nested : `node_modules/${name}`;
      const locked = lock[folder];
      if (locked === undefined || folders.has(folder)) continue;
      folders.add(folder);
      add(locked, folder);
    }
  };
  add(read(path.join(source, 'package.json')), '');
  return [...folders].filter((folder) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(folder));
}
