/** Starts a Kafka for development with the tools that this machine has. */
import { classArchive } from './class-archive.ts';
import { existingCluster } from './existing-cluster.ts';
import { ensureJars, JarsUnavailable, kafkaVersion } from './jars.ts';
import { findJava } from './java.ts';
import { startJavaCluster } from './java-cluster.ts';
import type { KafkaOptions, LocalKafka } from './local-kafka.ts';

export type { KafkaOptions, LocalKafka } from './local-kafka.ts';

/**
 * Starts real Apache Kafka as Java processes (Java 17+, and Maven to fetch the jars once), and
 * resolves when it serves requests. If KAFKA_BROKERS is set, it uses that cluster and starts
 * nothing. All processes and files end with this process.
 * @throws Error that names both alternatives if neither is available, or has the end of the log of
 * a broker that does not start
 */
export async function startKafka(options: KafkaOptions = {}): Promise<LocalKafka> {
  const existing = process.env.KAFKA_BROKERS;
  if (existing !== undefined && existing !== '') return existingCluster(existing);

  const java = await findJava();
  options.signal?.throwIfAborted();
  if ('missing' in java) throw await noKafka(java.missing);
  let jars: string;
  try {
    jars = await ensureJars(options.onProgress, options.signal);
  } catch (error) {
    throw error instanceof JarsUnavailable ? await noKafka(error.message) : error;
  }
  return await startJavaCluster(
    { java: java.java, jars, classArchive: classArchive(jars, java.version) },
    options,
  );
}

async function noKafka(missing: string): Promise<Error> {
  return new Error(
    [
      'No Kafka is available. Provide one of these:',
      `  1. Java 17 or later and Maven, for a local broker (Kafka ${await kafkaVersion()} is fetched once): ${missing}`,
      '     Debian and Ubuntu: apt-get install openjdk-17-jre-headless maven    macOS: brew install openjdk maven',
      '  2. an existing cluster: set KAFKA_BROKERS=host:port[,host:port...]',
    ].join('\n'),
  );
}
