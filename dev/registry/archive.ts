/**
 * Apicurio Registry: fetched once by Maven (142 MB) into the cache that has Kafka's jars too, verified at every start.
 *
 *   node dev/registry/archive.ts                  fetch if need be, verify, print the directory
 *   node dev/registry/archive.ts print-hashes     after a change of VERSION: fetch again, print what the constants should be
 */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { JarsUnavailable, jarCache } from '../kafka/jars.ts';
import { findMaven } from '../kafka/java.ts';
import { keepDirectory, spawnKept } from '../process/kept.ts';

const VERSION = '2.6.13.Final';
/** Checksum of the archive, verified before it is unpacked. */
const ARCHIVE_SHA256 = '3cda1b34aa020fb4ac4dd6a66018d757e81e437f97e20a1f92d366b70091c6ba';
/** Checksum of the lines `<hash> <path>` of all its files, sorted by path. */
const FILES_SHA256 = '7aa4f6a1990eee32d46ecc0cb5178ad58ea844ab641a15fc8893b036fb3a8482';

const ARCHIVE = `apicurio-registry-app-${VERSION}-all.tar.gz`;
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';

/** @returns the jar to run, in a verified directory. @throws JarsUnavailable when it is not in the cache and Maven is not there */
export async function ensureRegistry(
  onProgress: (message: string) => void = () => undefined,
): Promise<string> {
  const directory = path.join(
    path.dirname(await jarCache()),
    `apicurio-${VERSION}-${FILES_SHA256.slice(0, 12)}`,
  );
  const jar = path.join(directory, `apicurio-registry-app-${VERSION}-runner.jar`);
  let reason = 'once';
  if (existsSync(directory)) {
    if ((await filesHash(directory)) === FILES_SHA256) return jar;
    reason = `again: the cache ${directory} is damaged`;
  }
  const maven = await findMaven();
  if ('missing' in maven)
    throw new JarsUnavailable(`Apicurio Registry must be fetched ${reason}, and ${maven.missing}`);
  onProgress(`fetching Apicurio Registry ${VERSION} with Maven (142 MB, ${reason})`);
  await withFetched(path.dirname(directory), maven.mvn, async (files, archiveHash) => {
    if (archiveHash !== ARCHIVE_SHA256)
      throw new Error(`Maven brought another ${ARCHIVE} than ${ARCHIVE_SHA256}`);
    await unpack(files);
    if ((await filesHash(files.unpacked)) !== FILES_SHA256)
      throw new Error(`${ARCHIVE} was not unpacked as it should be`);
    await install(files.unpacked, directory);
  });
  return jar;
}

interface Files {
  readonly archive: string;
  readonly unpacked: string;
}

/** Puts the whole directory in place with one rename, unless another process was faster. */
async function install(unpacked: string, directory: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await rename(unpacked, directory);
      return;
    } catch (error) {
      if (attempt === 3) throw error;
    }
    if ((await filesHash(directory)) === FILES_SHA256) return;
    const damaged = `${directory}.damaged-${randomUUID()}`;
    await rename(directory, damaged).catch(() => undefined);
    await rm(damaged, { recursive: true, force: true });
  }
}

async function withFetched(
  parent: string,
  mvn: string,
  use: (files: Files, archiveHash: string) => Promise<void>,
): Promise<void> {
  await mkdir(parent, { recursive: true });
  const directory = await keepDirectory(path.join(parent, `fetching-${randomUUID()}`));
  try {
    const artifact = `io.apicurio:apicurio-registry-app:${VERSION}:tar.gz:all`;
    const args = [
      '--batch-mode',
      PLUGIN,
      `-Dartifact=${artifact}`,
      `-DoutputDirectory=${directory.path}`,
    ];
    await run(mvn, args, directory.path);
    const archive = path.join(directory.path, ARCHIVE);
    await use(
      { archive, unpacked: path.join(directory.path, 'unpacked') },
      await fileHash(archive),
    );
  } finally {
    await directory.remove();
  }
}

async function unpack({ archive, unpacked }: Files): Promise<void> {
  await mkdir(unpacked);
  await run('tar', ['-xzf', archive, '-C', unpacked], unpacked);
}

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const output: string[] = [];
  const { code } = await (
    await spawnKept({ command, args, cwd, onLine: (line) => output.push(line) })
  ).exited;
  if (code !== 0)
    throw new Error(
      `${command} failed while fetching Apicurio Registry:\n${output.slice(-25).join('\n')}`,
    );
}

async function filesHash(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)));
  const all = createHash('sha256');
  for (const name of names.map((name) => name.split(path.sep).join('/')).sort()) {
    const hash = createHash('sha256').update(await readFile(path.join(directory, name)));
    all.update(`${hash.digest('hex')}  ${name}\n`);
  }
  return all.digest('hex');
}

async function fileHash(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

async function printHashes(): Promise<void> {
  const maven = await findMaven();
  if ('missing' in maven) throw new JarsUnavailable(maven.missing);
  await withFetched(path.dirname(await jarCache()), maven.mvn, async (files, archiveHash) => {
    await unpack(files);
    process.stdout.write(
      `ARCHIVE_SHA256 = '${archiveHash}'\nFILES_SHA256 = '${await filesHash(files.unpacked)}'\n`,
    );
  });
}

if (import.meta.main) {
  if (process.argv[2] === 'print-hashes') await printHashes();
  else
    process.stdout.write(
      `${await ensureRegistry((message) => process.stderr.write(`${message}\n`))}\n`,
    );
}
