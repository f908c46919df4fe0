/** Section `service` of a configuration file, for commands that need nothing else of it. */
import { dirname } from 'node:path';
import { parseDocument, readText } from '../../config/load.ts';
import { group } from '../../config/option.ts';
import { serviceOptions } from '../../config/options/service.ts';
import type { Config } from '../../config/schema.ts';

const SECTION = group('The section.', { service: serviceOptions });

/**
 * Reads and checks the section; other sections, and the variables that they name, may be missing.
 * @param instead options that the command line gives: they may be absent, and are not read
 * @throws ConfigError with every problem at once
 */
export async function readServiceSection(
  file: string,
  env: NodeJS.ProcessEnv,
  instead: { readonly baseUrl: boolean; readonly apiKey: boolean },
): Promise<Config['service']> {
  const origin = { file, env, directory: dirname(file) };
  const prepare = (document: unknown) => {
    const { service = {} } = (document ?? {}) as { service?: unknown };
    if (typeof service !== 'object' || service === null || Array.isArray(service))
      return { service };
    return {
      service: {
        ...service,
        ...(instead.baseUrl && { baseUrl: 'https://not-read' }),
        ...(instead.apiKey && { apiKey: 'not read' }),
      },
    };
  };
  return parseDocument(await readText(file), SECTION, origin, prepare).service;
}
