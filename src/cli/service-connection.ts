import { dirname } from 'node:path';
import { CommandFailed } from '../../packages/client/src/cli/exit-codes.ts';
import type { ServiceConnection, ServiceFlags } from '../../packages/client/src/cli/flags.ts';
import {
  ContentReviewClient,
  type ContentReviewClientOptions,
} from '../../packages/client/src/index.ts';
import { clientSettings } from '../app/service-client.ts';
import { parseDocument, readText } from '../config/load.ts';
import { group } from '../config/option.ts';
import { serviceOptions } from '../config/options/service.ts';

/** Other sections of a configuration, and the variables that they name, may be missing. */
const SECTION = group('The section.', { service: serviceOptions });

/**
 * Connects as a configuration describes.
 * @throws CommandFailed; ConfigError with every problem at once. Nothing is sent.
 */
export async function connect(
  { config: file }: ServiceFlags,
  env: NodeJS.ProcessEnv,
  onRetry: NonNullable<ContentReviewClientOptions['onRetry']>,
): Promise<ServiceConnection> {
  const origin = { file, env, directory: dirname(file) };
  const section = (document: unknown) => ({ service: Object(document).service ?? {} });
  const { service } = parseDocument(await readText(file), SECTION, origin, section);
  try {
    const client = new ContentReviewClient({
      ...clientSettings(service),
      importPath: service.importPath,
      baseUrl: service.baseUrl,
      apiKey: () => service.apiKey.current(),
      onRetry,
    });
    const keyFrom = `service.apiKey of ${file}`;
    return { client, baseUrl: service.baseUrl.replace(/\/+$/, ''), keyFrom };
  } catch (error) {
    throw error instanceof TypeError ? new CommandFailed(error.message) : error;
  }
}
