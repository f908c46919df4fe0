/**
 * Kafka's jars. Maven fetches them once into a cache outside the checkout, and they are verified
 * against `jars/<version>.sha256` before use. `node dev/kafka/jars.ts write-manifest` fetches them
 * and writes that file. The version is KAFKA_VERSION, or the one in dev/pom.xml.
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { keepDirectory, spawnKept } from '../process/kept.ts';
import { findMaven } from './java.ts';

const POM = fileURLToPath(new URL('../pom.xml', import.meta.url));
const MANIFESTS = fileURLToPath(new URL('./jars', import.meta.url));

/** Returns KAFKA_VERSION, or the version that dev/pom.xml pins, such as 4.1.2. */
export async function kafkaVersion(): Promise<string> {
  const pinned = /<kafka\.version>([^<]+)</.exec(await readFile(POM, 'utf8'))?.[1] ?? '';
  const version = process.env.KAFKA_VERSION || pinned;
  if (!/^\d+\.\d+\.\d+$/.test(version))
    throw new Error(`KAFKA_VERSION must be a version such as ${pinned}; it is "${version}"`);
  return version;
}

const manifestFile = async () => path.join(MANIFESTS, `${await kafkaVersion()}.sha256`);

/** Returns the cache directory of the jars. Each version of dev/pom.xml has its own directory. */
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
 * Fills a directory of the cache, unless it exists.
 * @param fill creates the content in an empty directory, with Maven and other commands
 * @throws JarsUnavailable if Maven is missing
 */
export async function ensureCached(
  cache: string,
  fill: (directory: string, mvn: string) => Promise<void>,
): Promise<void> {
  if (existsSync(cache)) return;
  const found = await findMaven();
  if ('missing' in found)
    throw new JarsUnavailable(`${path.basename(cache)} must be fetched once, and ${found.missing}`);
  await mkdir(path.dirname(cache), { recursive: true });
  const directory = await keepDirectory(`${cache}.fetching-${randomUUID()}`);
  try {
    await fill(directory.path, found.mvn);
    // A rename ensures that the cache is never incomplete. Another process may have been faster.
    await rename(directory.path, cache).catch((error: unknown) => {
      if (!existsSync(cache)) throw error;
    });
  } finally {
    await directory.remove();
  }
}

/** Runs a command to its end. @throws Error with the end of its output, or the signal's reason */
export async function runToEnd(
  command: string,
  args: readonly string[],
  cwd: string,
  signal?: AbortSignal,
): Promise<void> {
  const output: string[] = [];
  const running = await spawnKept({ command, args, cwd, onLine: (line) => output.push(line) });
  const abandon = () => void running.stop(0);
  signal?.addEventListener('abort', abandon, { once: true });
  if (signal?.aborted) abandon();
  const { code } = await running.exited;
  signal?.removeEventListener('abort', abandon);
  signal?.throwIfAborted();
  if (code !== 0) throw new Error(`${command} failed:\n${output.slice(-25).join('\n')}`);
}

/**
 * Returns the directory of the jars.
 * @throws JarsUnavailable if they are not in the cache and Maven is missing; Error if Maven fetches
 * jars that are not in the manifest
 */
export async function ensureJars(
  onProgress: (message: string) => void = () => undefined,
  signal?: AbortSignal,
): Promise<string> {
  const cache = await jarCache();
  await ensureCached(cache, async (directory, mvn) => {
    onProgress(`fetching Kafka ${await kafkaVersion()} with Maven (54 MB, once)`);
    await fetchJars(directory, mvn, signal);
    const manifest = await manifestFile();
    if ((await manifestOf(directory)) !== (await readFile(manifest, 'utf8').catch(() => '')))
      throw new Error(
        `Maven fetched jars that ${manifest} does not list; nothing was installed.\n` +
          'If the version was changed on purpose, run: node dev/kafka/jars.ts write-manifest',
      );
  });
  return cache;
}

async function fetchJars(directory: string, mvn: string, signal?: AbortSignal): Promise<void> {
  const args = [
    ...['--batch-mode', '--file', POM, 'dependency:copy-dependencies'],
    ...['-DincludeScope=runtime', `-DoutputDirectory=${directory}`],
    // Brokers before 4.0 have another logger, which would compete with slf4j-simple.
    ...[`-Dkafka.version=${await kafkaVersion()}`, '-DexcludeArtifactIds=slf4j-reload4j'],
  ];
  await runToEnd(mvn, args, directory, signal);
}

/** Returns lines in the format of `sha256sum`: `<hash>  <name>`. */
async function manifestOf(directory: string): Promise<string> {
  const names = (await readdir(directory)).sort();
  const lines = names.map(async (name) => {
    const content = await readFile(path.join(directory, name));
    return `${createHash('sha256').update(content).digest('hex')}  ${name}\n`;
  });
  return (await Promise.all(lines)).join('');
}

if (import.meta.main) {
  if (process.argv[2] !== 'write-manifest')
    throw new Error('usage: node dev/kafka/jars.ts write-manifest');
  await ensureCached(await jarCache(), async (directory, mvn) => {
    await fetchJars(directory, mvn);
    await writeFile(await manifestFile(), await manifestOf(directory));
  });
}
