import { createReadStream } from 'node:fs';
import { dirname } from 'node:path';
import { isObject } from '../../packages/client/src/base/json/json-values.ts';
import { systemReason } from '../../packages/client/src/base/shown-text.ts';
import { crossChecks } from './cross-checks.ts';
import { parseYaml } from './load/document.ts';
import { interpolate } from './load/interpolate.ts';
import { ConfigError, type Finding, formatPath, toProblems } from './load/problem.ts';
import { type Draft, readOptions } from './load/read-options.ts';
import type { Option, Origin, Parsed } from './option.ts';
import { fillNames } from './options/names.ts';
import { CONFIGURATION, type Config } from './schema.ts';

const MAX_FILE_BYTES = 1024 * 1024;

export interface LoadOptions {
  /** True for commands that send no requests to the service. Its API key is then optional and not read. */
  readonly withoutServiceKey?: boolean;
}

/** Environment and directory of a document's options, and the name of its file for messages. */
type DocumentOrigin = Origin & { readonly file: string };

/** Reads and checks a configuration file. @throws ConfigError with all problems, in the order of the file */
export async function loadConfig(
  file: string,
  env: NodeJS.ProcessEnv,
  options?: LoadOptions,
): Promise<Config> {
  return parseConfig(await readText(file), env, { file, directory: dirname(file) }, options);
}

/** Checks the text of a configuration. @throws ConfigError with all problems, in the order of the file */
export function parseConfig(
  text: string,
  env: NodeJS.ProcessEnv,
  origin: { readonly file: string; readonly directory: string },
  { withoutServiceKey = false }: LoadOptions = {},
): Config {
  const prepare = (document: unknown) => {
    const { service, services } = document as { service?: unknown; services?: unknown };
    if (withoutServiceKey)
      for (const one of [service, ...Object.values(Object(services))])
        if (isObject(one)) Object.assign(one, { apiKey: 'not read' });
    return document;
  };
  return parseDocument(text, CONFIGURATION, { ...origin, env }, prepare, (draft, invalid) => {
    for (const pipeline of draft.pipelines ?? []) fillNames(pipeline);
    return crossChecks(draft, invalid);
  });
}

/**
 * Checks the text of a document against a schema.
 * @param prepare adapts the parsed document before its options are read
 * @param check returns problems that involve several options; `invalid` has the names of options with a problem
 * @throws ConfigError with all problems, in the order of the file
 */
export function parseDocument<O extends Option>(
  text: string,
  schema: O,
  { file, ...origin }: DocumentOrigin,
  prepare: (document: unknown) => unknown,
  check: (draft: Draft<Parsed<O>>, invalid: ReadonlySet<string>) => readonly Finding[] = () => [],
): Parsed<O> {
  const document = parseYaml(text);
  if (document.problems.length > 0) throw new ConfigError(file, document.problems);

  const interpolated = interpolate(prepare(document.value ?? {}), origin.env);
  const { draft, findings } = readOptions(schema, interpolated, origin);

  // Only the first problem of each option is reported, because further ones often follow from it.
  const reported = [...interpolated.problems];
  const namesOf = () => new Set(reported.map(({ path }) => formatPath(path)));
  for (const more of [() => findings, () => check(draft, namesOf())]) {
    const known = namesOf();
    reported.push(...more().filter(({ path }) => !known.has(formatPath(path))));
  }
  if (reported.length > 0) throw new ConfigError(file, toProblems(reported, document.locate));
  return draft as Parsed<O>;
}

/** Returns the text of a configuration file or pipe. @throws ConfigError if it cannot be read or is too large */
export async function readText(file: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_FILE_BYTES)
        throw new Error(`it has more than ${MAX_FILE_BYTES} bytes, the maximum of a configuration`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    const message = `cannot be read: ${systemReason(error)}`;
    throw new ConfigError(file, [{ path: '(file)', message }]);
  }
}
