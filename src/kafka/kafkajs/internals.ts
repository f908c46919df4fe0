/**
 * Private copy of kafkajs. Modules that loaded kafkajs earlier keep their copy. This one is loaded
 * module by module, so that a module can be replaced before others use it.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire, Module } from 'node:module';
import path from 'node:path';
import { compileFunction } from 'node:vm';
import type * as KafkaJs from 'kafkajs';

export const PATCHED_VERSION = '2.2.4';
/** SHA-256 over the names and contents of all modules of this version. */
const DIGEST = '488f979a262d45d0c2ab9e06ac7085b6cbb6a4f65a56782599675ec34f6edefb';

const load = createRequire(import.meta.url);
const root = path.dirname(load.resolve('kafkajs/package.json'));
const source = path.join(root, 'src');
verify();
for (const file of Object.keys(load.cache)) {
  if (file.startsWith(root + path.sep)) delete load.cache[file];
}

/**
 * Checks the installed version of kafkajs before any module is loaded, because in other code the
 * patches might take effect only in part.
 * @throws Error with the remedy
 */
function verify(): void {
  const { version } = load(path.join(root, 'package.json')) as { version?: unknown };
  const hash = createHash('sha256');
  const files = readdirSync(source, { encoding: 'utf8', recursive: true });
  for (const file of files.filter((one) => one.endsWith('.js')).sort())
    hash.update(file).update(readFileSync(path.join(source, file)));
  const digest = hash.digest('hex');
  if (version === PATCHED_VERSION && digest === DIGEST) return;
  throw new Error(
    `kafkajs ${String(version)} (SHA-256 ${digest}) is installed in ${root}, but the connector works only with the unchanged ${PATCHED_VERSION}, whose faults it patches. Install the locked packages again with \`npm ci\`, without patches to kafkajs.`,
  );
}

/** Returns a module of kafkajs. @param file path below `src/` */
export function internal<T>(file: string): T {
  return load(path.join(source, file)) as T;
}

/** Replaces a module for all modules that are loaded later. */
export function replace(file: string, patched: unknown): void {
  internal(file);
  (load.cache[path.join(source, file)] as { exports: unknown }).exports = patched;
}

/**
 * Loads a module with its own `Date`. Modules that are loaded later use this instance.
 * @throws Error if the module is already loaded, because its users would keep the other instance
 */
export function loadWithDate(file: string, date: Pick<DateConstructor, 'now'>): void {
  const filename = path.join(source, file);
  if (load.cache[filename] !== undefined) throw new Error(`${file} of kafkajs is already loaded`);
  const module = Object.assign(new Module(filename), { filename, loaded: true });
  const parameters = ['module', 'exports', 'require', 'Date'];
  const run = compileFunction(readFileSync(filename, 'utf8'), parameters, { filename });
  run(module, module.exports, createRequire(filename), date);
  load.cache[filename] = module;
}

/** Loads the rest of kafkajs. Must be called after the last replacement. */
export function loadKafkaJs(): typeof KafkaJs {
  return load('kafkajs') as typeof KafkaJs;
}
