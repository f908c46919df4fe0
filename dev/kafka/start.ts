/** Starts a Kafka for development with the tools that this machine has. */
import { classArchive } from './class-archive.ts';
import { findDocker, startDockerBroker } from './docker-broker.ts';
import { existingCluster } from './existing-cluster.ts';
import { ensureJars, JarsUnavailable, kafkaVersion } from './jars.ts';
import { findJava, findMaven } from './java.ts';
import { startJavaCluster } from './java-cluster.ts';
import type { KafkaOptions, LocalKafka } from './local-kafka.ts';

export type { KafkaOptions, LocalKafka } from './local-kafka.ts';

/**
 * Starts real Apache Kafka and resolves when it serves requests: as Java processes (Java 17+, and
 * Maven to fetch the jars once), otherwise in a running Docker engine. If KAFKA_BROKERS is set, it
 * uses that cluster and starts nothing. All processes and files end with this process.
 * @throws Error that names all three alternatives if none is available, or has the end of the log
 * of a broker that does not start
 */
export async function startKafka(options: KafkaOptions = {}): Promise<LocalKafka> {
  const existing = process.env.KAFKA_BROKERS;
  if (existing !== undefined && existing !== '') return existingCluster(existing);

  const java = await findJava();
  options.signal?.throwIfAborted();
  let noJava = 'missing' in java ? java.missing : undefined;
  if (!('missing' in java)) {
    try {
      const jars = await ensureJars(options.onProgress, options.signal);
      return await startJavaCluster(
        { java: java.java, jars, classArchive: classArchive(jars, java.version) },
        options,
      );
    } catch (error) {
      if (!(error instanceof JarsUnavailable)) throw error;
      noJava = error.message;
    }
  } else {
    const maven = await findMaven();
    if ('missing' in maven) noJava = `${java.missing}, and ${maven.missing}`;
  }

  const version = await kafkaVersion();
  const docker = await findDocker();
  options.signal?.throwIfAborted();
  if (!('missing' in docker)) return await startDockerBroker(version, options);

  throw new Error(
    [
      'No Kafka is available. Provide one of these:',
      `  1. Java 17 or later and Maven, for a local broker (Kafka ${version} is fetched once): ${noJava}`,
      '     Debian and Ubuntu: apt-get install openjdk-17-jre-headless maven    macOS: brew install openjdk maven',
      `  2. a running Docker engine, for the image apache/kafka:${version}: ${docker.missing}`,
      '  3. an existing cluster: set KAFKA_BROKERS=host:port[,host:port...]',
    ].join('\n'),
  );
}
