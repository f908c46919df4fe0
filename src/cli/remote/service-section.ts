/** The section `service` of a configuration file, for commands that need nothing else of it. */
import { dirname } from 'node:path';
import { parseYaml } from '../../config/load/document.ts';
import { findingsOf } from '../../config/load/findings.ts';
import { type Environment, interpolate } from '../../config/load/interpolate.ts';
import { ConfigError, type Finding, toProblems } from '../../config/load/problem.ts';
import { pemReader } from '../../config/load/read-file.ts';
import { secretReader } from '../../config/load/read-secret.ts';
import { readText } from '../../config/load/read-text.ts';
import { group } from '../../config/option.ts';
import { serviceOptions } from '../../config/options/service.ts';
import type { Config } from '../../config/schema.ts';

/** What is written where it does not matter. */
const NOT_READ = 'not read';

/**
 * Reads and checks the section; whatever else the file has, and the variables that it names, need not be there.
 * @param instead what the command line says itself: the option then need not be in the file, and is not read.
 * @throws ConfigError with everything that is wrong, at once.
 */
export async function readServiceSection(
  file: string,
  env: Environment,
  instead: { readonly baseUrl: boolean; readonly apiKey: boolean },
): Promise<Config['service']> {
  const document = parseYaml(await readText(file));
  if (document.problems.length > 0)
    throw new ConfigError(
      file,
      document.problems.map((problem) => ({ path: '(top level)', ...problem })),
    );
  const read = interpolate({ service: withoutUnread(sectionOf(document.value), instead) }, env);
  const schema = group('The section.', {
    service: serviceOptions(secretReader(env, dirname(file)), pemReader(dirname(file))),
  });
  const result = schema.safeParse(read.value);
  if (result.success && read.problems.length === 0) return result.data.service;
  // An option whose variable is missing is reported for that, not for being absent as well.
  const reported = new Set(read.problems.map(({ path }) => JSON.stringify(path)));
  const others = result.success ? [] : findingsOf(result.error, schema, read);
  const findings: Finding[] = [
    ...read.problems,
    ...others.filter(({ path }) => !reported.has(JSON.stringify(path))),
  ];
  throw new ConfigError(file, toProblems(findings, document.locate));
}

function sectionOf(document: unknown): unknown {
  return typeof document === 'object' && document !== null && 'service' in document
    ? document.service
    : undefined;
}

function withoutUnread(
  section: unknown,
  { baseUrl, apiKey }: { readonly baseUrl: boolean; readonly apiKey: boolean },
): unknown {
  if (
    section !== undefined &&
    (typeof section !== 'object' || section === null || Array.isArray(section))
  )
    return section;
  return {
    ...(section ?? {}),
    ...(baseUrl ? { baseUrl: 'https://not-read' } : {}),
    ...(apiKey ? { apiKey: NOT_READ } : {}),
  };
}
