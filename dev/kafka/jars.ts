/**
 * Kafka's jars: fetched once by Maven into a cache outside the checkout, verified against `jars.sha256` at every start.
 *
 *   node dev/kafka/jars.ts                  fetch if need be, verify, print the directory
 *   node dev/kafka/jars.ts write-manifest   after a change of dev/pom.xml: fetch again and write dev/kafka/jars.sha256
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { keepDirectory, spawnKept } from '../process/kept.ts';
import { findMaven } from './java.ts';

const POM = fileURLToPath(new URL('../pom.xml', import.meta.url));
const MANIFEST = fileURLToPath(new URL('./jars.sha256', import.meta.url));

/** The Kafka that dev/pom.xml pins, such as 4.1.2. */
export async function kafkaVersion(): Promise<string> {
  const version = /<kafka\.version>([^<]+)<\/kafka\.version>/.exec(
    await readFile(POM, 'utf8'),
  )?.[1];
  if (version === undefined) throw new Error(`${POM} has no <kafka.version>`);
  return version;
}

/** Returns the cache directory of the jars; each pom has its own. */
export async function jarCache(): Promise<string> {
  const home = process.env.XDG_CACHE_HOME;
  const base = home === undefined || home === '' ? path.join(homedir(), '.cache') : home;
  const hash = createHash('sha256')
    .update(await readFile(POM))
    .digest('hex')
    .slice(0, 12);
  return path.join(base, 'content-review-connector', `kafka-${await kafkaVersion()}-${hash}`);
}

export class JarsUnavailable extends Error {
  override readonly name = 'JarsUnavailable';
}

/**
 * @returns the directory with the verified jars.
 * @throws JarsUnavailable when they are not in the cache and Maven is not there; Error when what Maven brings is not what
 * `jars.sha256` says.
 */
export async function ensureJars(
  onProgress: (message: string) => void = () => undefined,
  manifestFile: string = MANIFEST,
  signal?: AbortSignal,
): Promise<string> {
  const cache = await jarCache();
  const manifest = parseManifest(await readFile(manifestFile, 'utf8'));
  let reason = 'once';
  if (existsSync(cache)) {
    const wrong = await differences(cache, manifest);
    if (wrong.length === 0) return cache;
    reason = `again: the cache ${cache} is damaged (${summary(wrong)})`;
  }
  const found = await findMaven();
  if ('missing' in found) {
    throw new JarsUnavailable(`the Kafka jars must be fetched ${reason}, and ${found.missing}`);
  }
  onProgress(`fetching Kafka ${await kafkaVersion()} with Maven (54 MB, ${reason})`);
  const fetched = await fetchInto(path.dirname(cache), found.mvn, signal);
  try {
    const wrong = await differences(fetched.jars, manifest);
    if (wrong.length > 0) {
      throw new Error(
        `Maven brought other jars than dev/kafka/jars.sha256 lists (${summary(wrong)}); nothing was installed.\n` +
          'If dev/pom.xml was changed on purpose, run: node dev/kafka/jars.ts write-manifest',
      );
    }
    await install(fetched.jars, cache, manifest);
  } finally {
    await fetched.remove();
  }
  return cache;
}

/** Puts complete jars in place with one rename, so that it is never half complete. */
async function install(
  jars: string,
  cache: string,
  manifest: ReadonlyMap<string, string>,
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await rename(jars, cache);
      return;
    } catch (error) {
      const taken = ['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '');
      if (!taken || attempt === 3) throw error;
    }
    // Another process was faster, or the damaged cache is still there.
    if ((await differences(cache, manifest)).length === 0) return;
    const damaged = `${cache}.damaged-${randomUUID()}`;
    await rename(cache, damaged).catch(() => undefined);
    await rm(damaged, { recursive: true, force: true });
  }
}

async function fetchInto(
  parent: string,
  mvn: string,
  signal?: AbortSignal,
): Promise<{ readonly jars: string; remove(): Promise<void> }> {
  await mkdir(parent, { recursive: true });
  const directory = await keepDirectory(path.join(parent, `fetching-${randomUUID()}`));
  const output: string[] = [];
  try {
    const jars = path.join(directory.path, 'jars');
    const maven = await spawnKept({
      command: mvn,
      args: [
        '--batch-mode',
        '--file',
        POM,
        'dependency:copy-dependencies',
        '-DincludeScope=runtime',
        `-DoutputDirectory=${jars}`,
      ],
      cwd: directory.path,
      onLine: (line) => output.push(line),
    });
    const abandon = () => void maven.stop(0);
    signal?.addEventListener('abort', abandon, { once: true });
    if (signal?.aborted) abandon();
    const { code } = await maven.exited;
    signal?.removeEventListener('abort', abandon);
    signal?.throwIfAborted();
    if (code !== 0)
      throw new Error(`Maven could not fetch Kafka's jars:\n${output.slice(-25).join('\n')}`);
    return { jars, remove: directory.remove };
  } catch (error) {
    await directory.remove();
    throw error;
  }
}

/** Lines as `sha256sum` writes them: `<hash>  <name>`. */
function parseManifest(text: string): Map<string, string> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => [line.slice(66), line.slice(0, 64)]),
  );
}

/** Names of jars that are missing, changed, or not in the manifest. */
async function differences(
  directory: string,
  manifest: ReadonlyMap<string, string>,
): Promise<string[]> {
  const actual = await hashes(directory);
  const names = new Set([...manifest.keys(), ...actual.keys()]);
  return [...names].filter((name) => manifest.get(name) !== actual.get(name)).sort();
}

async function hashes(directory: string): Promise<Map<string, string>> {
  const names = await readdir(directory).catch(() => []);
  const entries = names.sort().map(async (name): Promise<[string, string]> => {
    const content = await readFile(path.join(directory, name)).catch(() => Buffer.alloc(0));
    return [name, createHash('sha256').update(content).digest('hex')];
  });
  return new Map(await Promise.all(entries));
}

function summary(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}

async function writeManifest(): Promise<void> {
  const maven = await findMaven();
  if ('missing' in maven) throw new JarsUnavailable(maven.missing);
  const fetched = await fetchInto(path.dirname(await jarCache()), maven.mvn);
  const found = await hashes(fetched.jars);
  await fetched.remove();
  await writeFile(MANIFEST, [...found].map(([name, hash]) => `${hash}  ${name}\n`).join(''));
  process.stdout.write(`${found.size} jars written to ${MANIFEST}\n`);
}

if (import.meta.main) {
  if (process.argv[2] === 'write-manifest') await writeManifest();
  else
    process.stdout.write(
      `${await ensureJars((message) => process.stderr.write(`${message}\n`))}\n`,
    );
}
