import type { ContentReviewClient, ContentReviewClientOptions } from '../index.ts';
import type { ServiceFlags } from './flags.ts';
import type { Io } from './io.ts';

/** Client of the service, and details of the connection for messages. */
export interface ServiceConnection {
  readonly client: ContentReviewClient;
  readonly baseUrl: string;
  /** Source of the API key. */
  readonly keyFrom: string;
}

/** Surroundings of a command that calls the service. */
export interface ServiceIo extends Io {
  /** Makes the client that the options of the command line describe. Sends nothing. @throws CommandFailed, or the program's own error for a configuration */
  connect(
    flags: ServiceFlags,
    env: NodeJS.ProcessEnv,
    onRetry: NonNullable<ContentReviewClientOptions['onRetry']>,
  ): Promise<ServiceConnection>;
}
