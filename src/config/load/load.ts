import { dirname } from 'node:path';
import { crossChecks } from '../checks/cross-checks.ts';
import { type Config, configSchema } from '../schema.ts';
import { parseYaml } from './document.ts';
import { draftOf } from './draft.ts';
import { findingsOf } from './findings.ts';
import { type Environment, type Interpolated, interpolate } from './interpolate.ts';
import { ConfigError, type Finding, toProblems } from './problem.ts';
import { pemReader } from './read-file.ts';
import { secretReader } from './read-secret.ts';
import { readText } from './read-text.ts';

export interface LoadOptions {
  /** The service is not asked for anything: its key need not be there, and is not read. */
  readonly withoutServiceKey?: boolean;
}

/** Reads and checks a configuration file. @throws ConfigError with everything that is wrong, at once, sorted by path. */
export async function loadConfig(
  path: string,
  env: Environment,
  options: LoadOptions = {},
): Promise<Config> {
  return parseConfig(await readText(path), env, { file: path, directory: dirname(path) }, options);
}

/**
 * Checks the text of a configuration. `directory` is where relative paths of secrets begin.
 * @throws ConfigError with everything that is wrong, at once, sorted by path.
 */
export function parseConfig(
  text: string,
  env: Environment,
  origin: { readonly file: string; readonly directory: string },
  { withoutServiceKey = false }: LoadOptions = {},
): Config {
  const document = parseYaml(text);
  if (document.problems.length > 0)
    throw new ConfigError(
      origin.file,
      document.problems.map((problem) => ({ path: '(top level)', ...problem })),
    );

  const read = interpolate(document.value ?? {}, env);
  const interpolated = withoutServiceKey ? keyLeftOut(read) : read;
  const schema = configSchema(secretReader(env, origin.directory), pemReader(origin.directory));
  const result = schema.safeParse(interpolated.value);
  const objections = crossChecks(draftOf(schema, interpolated.value));
  if (!result.success) objections.push(...findingsOf(result.error, schema, interpolated));
  // An option whose variable is missing is reported for that, not for being absent as well.
  const reported = new Set(interpolated.problems.map(({ path }) => JSON.stringify(path)));
  const findings: Finding[] = [
    ...interpolated.problems,
    ...objections.filter(({ path }) => !reported.has(JSON.stringify(path))),
  ];
  if (!result.success || findings.length > 0)
    throw new ConfigError(origin.file, toProblems(findings, document.locate));
  return result.data;
}

function keyLeftOut(read: Interpolated): Interpolated {
  const { service } = read.value as { service?: unknown };
  if (typeof service !== 'object' || service === null) return read;
  return {
    ...read,
    value: { ...(read.value as object), service: { ...service, apiKey: 'not read' } },
    problems: read.problems.filter(
      ({ path: [first, second] }) => first !== 'service' || second !== 'apiKey',
    ),
  };
}
