/** Where the service is, and the key: from the command line, a configuration file, or the environment, in this order. */
import { type Command, Option } from 'commander';
import { networkSettings } from '../../app/clients/service-network.ts';
import { ContentReviewClient, type ContentReviewClientOptions } from '../../client/index.ts';
import type { Environment } from '../../config/load/interpolate.ts';
import { Secret } from '../../config/secret.ts';
import { UsageProblem } from '../usage.ts';
import { readServiceSection } from './service-section.ts';

export const URL_VARIABLE = 'CONTENT_REVIEW_URL';
export const KEY_VARIABLE = 'CONTENT_REVIEW_API_KEY';

export interface ConnectionFlags {
  readonly url?: string;
  readonly apiKeyFile?: string;
  readonly config?: string;
  /** Of imports only. */
  readonly importPath?: string;
  readonly allowHttp?: true;
}

/** Adds the options that say where the service is. A key on the command line could be read by every user of the machine. */
export function connectionOptions(command: Command): Command {
  return command
    .option('--url <url>', `address of the service, without /v1; also ${URL_VARIABLE}`)
    .option(
      '--api-key-file <file>',
      `file with the API key; also the key itself in ${KEY_VARIABLE}`,
    )
    .option(
      '-c, --config <file>',
      'take address, key and how to get there from the section `service` of this configuration',
    )
    .option(
      '--allow-http',
      'talk to the service by http although it is another machine: the key can be read on the way',
    )
    .addOption(new Option('--api-key <key>').hideHelp().argParser(refuseKey));
}

function refuseKey(): never {
  throw new UsageProblem(
    `A key on the command line can be read by every user of this machine: put it into ${KEY_VARIABLE}, or into a file for --api-key-file`,
  );
}

export interface Connection {
  readonly client: ContentReviewClient;
  readonly baseUrl: string;
  /** Where the key is from, as a message names it. */
  readonly keyFrom: string;
}

type OnRetry = NonNullable<ContentReviewClientOptions['onRetry']>;

/** @throws UsageProblem, ConfigError: nothing was asked of the service. */
export async function connect(
  flags: ConnectionFlags,
  env: Environment,
  onRetry: OnRetry,
): Promise<Connection> {
  const section =
    flags.config === undefined ? undefined : await sectionOf(flags.config, flags, env);
  const baseUrl = flags.url ?? section?.baseUrl ?? env[URL_VARIABLE];
  if (baseUrl === undefined || baseUrl === '') {
    throw new UsageProblem(
      `Where is the service? Say --url, or set ${URL_VARIABLE}, or name a configuration with --config`,
    );
  }
  const { secret, from } = keyOf(flags, section?.apiKey, env);
  const importPath = flags.importPath ?? section?.importPath;
  const options: ContentReviewClientOptions = {
    ...section?.settings,
    ...(flags.allowHttp === true
      ? { allowHttp: [...(section?.settings.allowHttp ?? []), hostOf(baseUrl)] }
      : {}),
    ...(importPath === undefined ? {} : { importPath }),
    baseUrl,
    apiKey: () => secret.current(),
    onRetry,
  };
  try {
    return {
      client: new ContentReviewClient(options),
      baseUrl: baseUrl.replace(/\/+$/, ''),
      keyFrom: from,
    };
  } catch (error) {
    if (error instanceof TypeError) {
      const inTheClear = /If that is meant.*$/;
      const message = error.message.replace(inTheClear, 'If that is meant, say --allow-http');
      throw new UsageProblem(message.replace(/^base_url/, 'the address of the service'));
    }
    throw error;
  }
}

/** As an entry of allowHttp; what is no address is refused for that. */
function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.hostname || 'localhost';
}

async function sectionOf(file: string, { url, apiKeyFile }: ConnectionFlags, env: Environment) {
  const instead = { baseUrl: url !== undefined, apiKey: apiKeyFile !== undefined };
  const service = await readServiceSection(file, env, instead);
  const { baseUrl, apiKey, importPath, timeouts, retry } = service;
  const settings = {
    ...networkSettings(service),
    connectTimeoutMs: timeouts.connectMs,
    headersTimeoutMs: timeouts.headersMs,
    bodyTimeoutMs: timeouts.bodyMs,
    retry: { maxRetries: retry.attempts - 1, baseMs: retry.baseMs, capMs: retry.capMs },
  };
  return {
    baseUrl,
    apiKey: { secret: apiKey, from: `service.apiKey of ${file}` },
    importPath,
    settings,
  };
}

interface Key {
  readonly secret: Secret;
  readonly from: string;
}

function keyOf(
  { apiKeyFile }: ConnectionFlags,
  configured: Key | undefined,
  env: Environment,
): Key {
  if (apiKeyFile !== undefined)
    return {
      secret: secretFrom(`the file ${apiKeyFile}`, () => Secret.file(apiKeyFile)),
      from: `the file ${apiKeyFile}`,
    };
  if (configured !== undefined) return configured;
  const value = env[KEY_VARIABLE];
  if (value === undefined) {
    throw new UsageProblem(
      `There is no API key: set ${KEY_VARIABLE}, or name a file that holds it with --api-key-file, or a configuration with --config`,
    );
  }
  return { secret: secretFrom(KEY_VARIABLE, () => Secret.of(value)), from: KEY_VARIABLE };
}

/** @throws UsageProblem that does not show the value. */
function secretFrom(what: string, read: () => Secret): Secret {
  try {
    return read();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT'
        ? 'there is no such file'
        : code === 'EACCES'
          ? 'this user may not read it'
          : message;
    throw new UsageProblem(`The API key cannot be taken from ${what}: ${why}`);
  }
}
