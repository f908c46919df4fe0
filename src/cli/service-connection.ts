import { dirname } from 'node:path';
import { isObject } from '../../packages/client/src/base/json/json-values.ts';
import { CommandFailed, systemReason } from '../../packages/client/src/cli/exit-codes.ts';
import {
  KEY_VARIABLE,
  type ServiceConnection,
  type ServiceFlags,
  URL_VARIABLE,
} from '../../packages/client/src/cli/flags.ts';
import {
  ContentReviewClient,
  type ContentReviewClientOptions,
} from '../../packages/client/src/index.ts';
import { clientSettings } from '../app/service-client.ts';
import { parseDocument, readText } from '../config/load.ts';
import { group } from '../config/option.ts';
import { serviceOptions } from '../config/options/service.ts';
import type { Config } from '../config/schema.ts';
import { Secret } from '../config/secret.ts';

/**
 * Connects with the options of the command line, else those of a configuration file, else the environment.
 * @throws CommandFailed; ConfigError. Nothing is sent.
 */
export async function connect(
  flags: ServiceFlags,
  env: NodeJS.ProcessEnv,
  onRetry: NonNullable<ContentReviewClientOptions['onRetry']>,
): Promise<ServiceConnection> {
  const { url, apiKeyFile, config, allowHttp } = flags;
  const given = { baseUrl: url !== undefined, apiKey: apiKeyFile !== undefined };
  const section = config === undefined ? undefined : await readServiceSection(config, env, given);
  const baseUrl = url ?? section?.baseUrl ?? env[URL_VARIABLE];
  if (!baseUrl)
    throw new CommandFailed(
      `No address of the service: use --url, set ${URL_VARIABLE}, or name a configuration with --config`,
    );

  const { key, keyFrom } =
    section === undefined || given.apiKey
      ? keyOf(apiKeyFile, env)
      : { key: section.apiKey, keyFrom: `service.apiKey of ${config}` };
  const importPath = flags.importPath ?? section?.importPath;
  const settings = section && clientSettings(section);
  // An invalid address is refused for that.
  const host = URL.parse(baseUrl)?.hostname || 'localhost';
  try {
    const client = new ContentReviewClient({
      ...settings,
      ...(allowHttp ? { allowHttp: [...(settings?.allowHttp ?? []), host] } : {}),
      ...(importPath === undefined ? {} : { importPath }),
      baseUrl,
      apiKey: () => key.current(),
      onRetry,
    });
    return { client, baseUrl: baseUrl.replace(/\/+$/, ''), keyFrom };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = error.message.replace(
      /If that is intended.*$/,
      'To allow it, add --allow-http',
    );
    throw new CommandFailed(message.replace(/^baseUrl/, 'the address of the service'));
  }
}

function keyOf(file: string | undefined, env: NodeJS.ProcessEnv) {
  const keyFrom = file === undefined ? KEY_VARIABLE : `the file ${file}`;
  const value = env[KEY_VARIABLE];
  if (file === undefined && value === undefined)
    throw new CommandFailed(
      `No API key: set ${KEY_VARIABLE}, or name a file with --api-key-file, or a configuration with --config`,
    );
  try {
    return { key: file === undefined ? Secret.of(value ?? '') : Secret.file(file), keyFrom };
  } catch (error) {
    throw new CommandFailed(`The API key cannot be read from ${keyFrom}: ${systemReason(error)}`);
  }
}

const SECTION = group('The section.', { service: serviceOptions });

/**
 * Reads and checks the section; other sections, and the variables that they name, may be missing.
 * @param instead options that the command line gives: they may be absent, and are not read
 * @throws ConfigError with every problem at once
 */
async function readServiceSection(
  file: string,
  env: NodeJS.ProcessEnv,
  instead: { readonly baseUrl: boolean; readonly apiKey: boolean },
): Promise<Config['service']> {
  const origin = { file, env, directory: dirname(file) };
  const prepare = (document: unknown) => {
    const { service = {} } = (document ?? {}) as { service?: unknown };
    if (!isObject(service)) return { service };
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
