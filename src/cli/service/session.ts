import { dirname } from 'node:path';
import { systemReason } from '../../../packages/client/src/base/shown-text.ts';
import {
  CommandFailed,
  EXIT,
  type ExitCode,
  interruptible,
} from '../../../packages/client/src/cli/exit-codes.ts';
import type { Io } from '../../../packages/client/src/cli/io.ts';
import { CommandProgress } from '../../../packages/client/src/cli/progress.ts';
import { sentence } from '../../../packages/client/src/cli/text.ts';
import {
  type ContentReviewClient,
  ServiceError,
  type ServiceFailure,
} from '../../../packages/client/src/index.ts';
import { serviceClient } from '../../app/service-client.ts';
import { parseDocument, readText } from '../../config/load.ts';
import { group } from '../../config/option.ts';
import { namedServices, serviceOptions } from '../../config/options/service.ts';
import { chosenSection, type ServiceConfig, servicesOf } from '../../config/services.ts';

/** Options of the commands that call the service. Each command has some of them. */
export interface ServiceFlags {
  readonly config: string;
  readonly service?: string;
  readonly wait?: true;
  /** Maximum wait in ms. */
  readonly timeout?: number;
  readonly type?: string;
}

/** Context of a command that calls the service. */
export interface Session {
  readonly io: Io;
  readonly flags: ServiceFlags;
  readonly client: ContentReviewClient;
  readonly progress: CommandProgress;
  /** Aborted by a signal, with the reason Interrupted. */
  readonly signal: AbortSignal;
}

/**
 * Runs a command with a client of the service, and reports its exit code.
 * @throws CommandFailed, ConfigError with all problems, or an unexpected error
 */
export async function runSession(
  io: Io,
  flags: ServiceFlags,
  work: (session: Session) => Promise<ExitCode>,
): Promise<void> {
  const progress = new CommandProgress(io);
  const client = await connect(io, flags, progress);
  try {
    await interruptible(async (signal) =>
      io.finish(await work({ io, flags, client, progress, signal })),
    );
  } catch (error) {
    throw failureOf(error);
  } finally {
    progress.clear();
    await client.close();
  }
}

/** Accepts configurations whose other sections, and the variables that these name, are missing. */
const SECTION = group('The section.', {
  service: { ...serviceOptions, isOptional: true as const },
  services: namedServices,
});

async function connect(
  { env }: Io,
  { config: file, service: given }: ServiceFlags,
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

const CODES: Readonly<Record<ServiceFailure, ExitCode>> = {
  rejected: EXIT.usage,
  not_found: EXIT.usage,
  too_large: EXIT.usage,
  unauthorized: EXIT.refused,
  blocked: EXIT.refused,
  unavailable: EXIT.unreachable,
  expired: EXIT.failure,
  protocol: EXIT.failure,
};

/** Returns an expected failure as a message with its exit code. @throws any other error */
export function failureOf(error: unknown): CommandFailed {
  if (error instanceof CommandFailed) return error;
  if (error instanceof ServiceError)
    return new CommandFailed(sentence(error.message), CODES[error.failure]);
  if (!(error instanceof Error && 'syscall' in error)) throw error;
  return new CommandFailed(systemReason(error), EXIT.failure);
}
