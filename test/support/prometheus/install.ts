/**
 * Prometheus and promtool for tests, from the PATH or from Debian's package `prometheus`, which is unpacked into a
 * cache outside the checkout. The package is not installed, because it would add a service, a user and libraries for
 * a web page.
 *
 *   node test/support/prometheus/install.ts        makes them available and prints their paths
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { execute } from '../../../dev/helm/execute.ts';

export interface Prometheus {
  readonly prometheus: string;
  readonly promtool: string;
}

/** @throws Error that names the packages to install */
export async function ensurePrometheus(): Promise<Prometheus> {
  const directories = (process.env.PATH ?? '').split(path.delimiter);
  const found = [...directories.map(programsIn), cached()].find(areThere);
  if (found !== undefined) return found;
  await unpack(cacheDirectory());
  return cached();
}

const cached = (): Prometheus => programsIn(path.join(cacheDirectory(), 'usr', 'bin'));

const programsIn = (directory: string): Prometheus => ({
  prometheus: path.join(directory, 'prometheus'),
  promtool: path.join(directory, 'promtool'),
});

const areThere = ({ prometheus, promtool }: Prometheus): boolean =>
  existsSync(prometheus) && existsSync(promtool);

function cacheDirectory(): string {
  const home = process.env.XDG_CACHE_HOME;
  const base = home === undefined || home === '' ? path.join(homedir(), '.cache') : home;
  return path.join(base, 'content-review-connector', 'prometheus');
}

async function unpack(directory: string): Promise<void> {
  const scratch = `${directory}.${randomUUID()}`;
  mkdirSync(scratch, { recursive: true });
  try {
    await download(scratch);
    await execute('sh', ['-c', 'dpkg-deb --extract ./*.deb unpacked'], { cwd: scratch });
    // Another process may have created it first.
    if (!existsSync(directory)) renameSync(path.join(scratch, 'unpacked'), directory);
  } catch (cause) {
    throw new Error(
      'prometheus and promtool were not found: install them (on Debian and Ubuntu: apt-get install prometheus) and add them to the PATH',
      { cause },
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function download(cwd: string): Promise<void> {
  const get = () => execute('apt-get', ['download', '-qq', 'prometheus'], { cwd });
  try {
    await get();
  } catch {
    // A new container has no package lists.
    await execute('apt-get', ['update', '-qq']);
    await get();
  }
}

if (import.meta.main) {
  const { prometheus, promtool } = await ensurePrometheus();
  process.stdout.write(`${prometheus}\n${promtool}\n`);
}
