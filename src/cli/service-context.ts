import { dirname } from 'node:path';
import { CommandFailed } from '../../packages/client/src/cli/exit-codes.ts';
import type { Io } from '../../packages/client/src/cli/io.ts';
import type { CommandProgress } from '../../packages/client/src/cli/progress.ts';
import type { CommandContext, ServiceFlags } from '../../packages/client/src/commands/session.ts';
import type { ContentReviewClient } from '../../packages/client/src/index.ts';
import { serviceClient } from '../app/service-client.ts';
import { parseDocument, readText } from '../config/load.ts';
import { group } from '../config/option.ts';
import { namedServices, serviceOptions } from '../config/options/service.ts';
import { chosenSection, type ServiceConfig, servicesOf } from '../config/services.ts';

/** Options of the commands that call the service. Each command has some of them. */
export interface Flags extends ServiceFlags {
  readonly config: string;
  readonly service?: string;
}

/** Returns the context of a command whose client is created from the configuration. */
export const contextOf = (io: Io, flags: Flags): CommandContext => ({
  ...{ io, flags },
  connect: (progress) => connect(io, flags, progress),
});

/** Schema of the service sections only. Other sections, and variables in them, may be missing. */
const SECTION = group('The section.', {
  service: { ...serviceOptions, isOptional: true as const },
  services: namedServices,
});

/** @throws ConfigError with all problems, or CommandFailed */
async function connect(
  { env }: Io,
  { config: file, service: given }: Flags,
  progress: CommandProgress,
): Promise<ContentReviewClient> {
  const origin = { file, env, directory: dirname(file) };
  const section = (document: unknown) => {
    const chosen = chosenSection(document, given);
    if (!chosen.ok) throw new CommandFailed(`${file} ${chosen.error}`);
    return chosen.value;
  };
  const config = parseDocument(await readText(file), SECTION, origin, section);
  const [service] = [...servicesOf(config).values()] as [ServiceConfig];
  const retry = (operation: string, reason: string) =>
    progress.note(`${operation}: ${reason}, trying again`);
  try {
    return serviceClient(service, { observer: { retry } });
  } catch (error) {
    throw error instanceof TypeError ? new CommandFailed(error.message) : error;
  }
}
