/**
 * Toolchains of the examples, with their libraries in the cache of Kafka's jars. Run this file to fill the cache before
 * the tests of CI: node test/integration/examples/toolchains.ts
 */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { jarCache } from '../../../dev/kafka/jars.ts';
import { keepDirectory } from '../../../dev/process/kept.ts';
import { ROOT } from '../../support/docs/pages.ts';

const run = promisify(execFile);
const GO_PATH = '/usr/local/go/bin';
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

/** Command that runs an example. */
export interface ExampleCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Toolchain {
  /** Returns the command for `producer` or `consumer`. */
  commandOf(program: 'producer' | 'consumer'): ExampleCommand;
}

/** Toolchain, or the tool that is missing on this machine. */
export type Found = Toolchain | { readonly missing: string };

const folder = (language: string) => path.join(ROOT, 'examples', language);

/** Node.js with the packages of this checkout. */
export async function typescript(): Promise<Found> {
  const ownPackages = new URL('../../../dev/own-package.ts', import.meta.url).href;
  return {
    commandOf: (program) => ({
      command: process.execPath,
      args: ['--import', ownPackages, path.join(folder('typescript'), `${program}.ts`)],
      // kafkajs makes Node.js print warnings about negative timeouts.
      env: { NODE_OPTIONS: '', NODE_NO_WARNINGS: '1' },
    }),
  };
}

/** JDK with Maven. The jars are verified at every start. */
export async function java(): Promise<Found> {
  for (const tool of ['javac', 'mvn'])
    if (!(await isThere(tool, '-version'))) return { missing: tool };
  const directory = folder('java');
  const sums = path.join(directory, 'lib.sha256');
  const lib = await cached('java', [sums, path.join(directory, 'pom.xml')], [], async (target) => {
    await run('mvn', ['-q', '-B', COPY, `-DoutputDirectory=${target}`], { cwd: directory });
  });
  for (const line of readFileSync(sums, 'utf8').trim().split('\n')) {
    const [hash, name = ''] = line.split(/ +/);
    const bytes = await readFile(path.join(lib, name));
    if (createHash('sha256').update(bytes).digest('hex') !== hash)
      throw new Error(`${lib}/${name} has another checksum than ${sums}: remove ${lib}`);
  }
  const sources = ['Producer.java', 'Consumer.java'].map((name) => path.join(directory, name));
  const { stdout: version } = await run('javac', ['-version']);
  // Compiles the source files once. Otherwise Java would compile them at each start, which takes most of the CPU time.
  const classes = await cached('java-classes', [sums, ...sources], [version], async (target) => {
    await run('javac', ['-cp', `${lib}/*`, '-d', target, ...sources]);
  });
  return {
    commandOf: (program) => ({
      command: 'java',
      args: [
        ...['-Xmx128m', '-XX:TieredStopAtLevel=1', '-cp', `${lib}/*${path.delimiter}${classes}`],
        program === 'producer' ? 'Producer' : 'Consumer',
      ],
    }),
  };
}

/** Python with pip, which verifies the hashes of requirements.txt. */
export async function python(): Promise<Found> {
  if (!(await isThere('python3', '-m', 'pip', '--version'))) return { missing: 'python3 with pip' };
  const directory = folder('python');
  const requirements = path.join(directory, 'requirements.txt');
  const { stdout: version } = await run('python3', ['-VV']);
  const lib = await cached('python', [requirements], [version], async (target) => {
    const install = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--require-hashes'];
    await run('python3', [...install, '--target', target, '-r', requirements]);
  });
  return {
    commandOf: (program) => ({
      command: 'python3',
      args: [path.join(directory, `${program}.py`)],
      env: { PYTHONPATH: lib, PYTHONDONTWRITEBYTECODE: '1' },
    }),
  };
}

/** Go, which verifies modules with go.sum. */
export async function go(): Promise<Found> {
  const env = {
    ...process.env,
    PATH: `${process.env.PATH}${path.delimiter}${GO_PATH}`,
    CGO_ENABLED: '0',
    // Saves a third of the CPU time, at the cost of more memory of the compiler.
    GOGC: '400',
  };
  const { stdout: version } = await run('go', ['version'], { env }).catch(() => ({ stdout: '' }));
  if (version === '') return { missing: 'go' };
  const directory = folder('go');
  const sources = globSync('**/*', { cwd: directory, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name));
  const bin = await cached('go', sources.sort(), [version], async (target) => {
    // Saves another third of the CPU time. The programs run only for seconds.
    const unoptimised = '-gcflags=all=-N -l';
    const build = ['build', '-mod=readonly', '-buildvcs=false', unoptimised, '-o', target, './...'];
    await run('go', build, { cwd: directory, env });
  });
  return { commandOf: (program) => ({ command: path.join(bin, program), args: [] }) };
}

const isThere = (command: string, ...args: string[]): Promise<boolean> =>
  run(command, args).then(
    () => true,
    () => false,
  );

/** Returns a directory of the cache, which is filled once for these files and strings. */
async function cached(
  language: string,
  files: readonly string[],
  texts: readonly string[],
  fill: (directory: string) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256');
  for (const part of [...files.map((file) => readFileSync(file)), ...texts]) hash.update(part);
  const cache = path.dirname(await jarCache());
  const directory = path.join(cache, `examples-${language}-${hash.digest('hex').slice(0, 12)}`);
  if (existsSync(directory)) return directory;
  await mkdir(cache, { recursive: true });
  const draft = await keepDirectory(path.join(cache, `fetching-${randomUUID()}`));
  try {
    const filled = path.join(draft.path, 'filled');
    await mkdir(filled);
    await fill(filled);
    // Another process may have filled the directory first.
    await rename(filled, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await draft.remove();
  }
  return directory;
}

if (import.meta.main)
  for (const [language, find] of Object.entries({ java, python, go })) {
    const found = await find();
    const state = 'missing' in found ? `${found.missing} was not found` : 'ready';
    process.stdout.write(`${language}: ${state}\n`);
  }
