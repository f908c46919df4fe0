/** Kafka client of the tools. It is separate from the connector's group and transactions. */
import type { Config } from '../../config/schema.ts';
import type { TopicScan } from '../../core/ports/kafka.ts';
import { type ConnectOptions, connectKafka, requestFailure } from '../../kafka/index.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { InspectError } from '../../tools/inspect/context.ts';
import { sourceLimits } from '../pipeline-options.ts';

/** Timeout for connecting. Short, because a person waits. */
const KAFKA_CONNECT_MS = 3_000;

/** Logs nothing, because standard output is for a tool's result. Failures are thrown instead. */
export const SILENT_LOGGER = createLogger({ level: 'silent' });

interface ToolClients {
  readonly kafka: ReturnType<typeof connectKafka>;
  readonly scan: TopicScan;
}

/**
 * Runs `work`, and then closes the client.
 * @throws InspectError if Kafka rejects a request or does not respond, or the error of `work`
 */
export async function withClients<T>(
  config: Config,
  connect: ConnectOptions,
  work: (clients: ToolClients) => Promise<T>,
): Promise<T> {
  const kafka = connectKafka({ ...connect, connectionTimeoutMs: KAFKA_CONNECT_MS }, SILENT_LOGGER);
  const scan = kafka.scan(sourceLimits(config));
  try {
    return await work({ kafka, scan });
  } catch (error) {
    const failure = error instanceof InspectError ? undefined : requestFailure(error);
    if (failure === undefined) throw error;
    const where = `Kafka at ${config.kafka.brokers.join(',')} cannot be reached: `;
    const { message } = error as Error;
    throw new InspectError(failure, failure === 'unreachable' ? where + message : message, {
      cause: error,
    });
  } finally {
    await scan.close();
    await kafka.close();
  }
}
