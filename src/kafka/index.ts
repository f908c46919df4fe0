/** Kafka adapter: implements the ports of src/core/ports with kafkajs. Other folders import only this file. */
import type { Logger } from '../core/ports/telemetry.ts';
import { KafkaAdmin } from './admin/admin.ts';
import { KafkaTopicScan } from './admin/topic-scan.ts';
import { BrokerSilence, type ConnectOptions } from './connect.ts';
import type { GroupOptions } from './consumer/group-options.ts';
import { KafkaShardGroup } from './consumer/shard-group.ts';
import { KafkaSourceReader, type SourceReaderOptions } from './consumer/source-reader.ts';
import { KafkaShardProducer, type ProducersOptions } from './producer/shard-producer.ts';
import type { ReadLimits } from './records/index.ts';

export { requestFailure } from './errors.ts';
export { mskTokens } from './security/msk-tokens.ts';
export type { SaslOptions, TlsOptions } from './security/options.ts';
export { Security } from './security/security.ts';
export { endpointTokens } from './security/token-endpoint.ts';
export { fileTokens } from './security/token-file.ts';
export type { ConnectOptions, GroupOptions, ProducersOptions, ReadLimits };

type ReplayProducerOptions = Omit<ProducersOptions, 'sourceTopic' | 'journalTopic'> & {
  readonly deadLetters: string;
};

/** Returns the connector's access to a cluster. Each part connects when it is first used. */
export function connectKafka(given: ConnectOptions, logger: Logger) {
  const silence = new BrokerSilence();
  const options = { ...given, silence };
  const admin = new KafkaAdmin(options, logger);
  const lookUp = (topic: string) => admin.writable(topic);
  return {
    admin,
    group: (group: GroupOptions) => new KafkaShardGroup(options, group, logger),
    producers: (producers: ProducersOptions) => ({
      open: (shard: number) =>
        new KafkaShardProducer([shard], options, producers, lookUp, logger.child({ shard })),
    }),
    /** Producer of commands to all shards of a pipeline. */
    controlProducer: (producers: ProducersOptions, shards: readonly number[]) =>
      new KafkaShardProducer(shards, options, producers, lookUp, logger, 'control'),
    /** Producer of a replay. It has no journal, and commits the replay group's offsets on the dead-letter topic. */
    replayProducer: ({ deadLetters, ...producer }: ReplayProducerOptions) =>
      new KafkaShardProducer(
        [],
        options,
        { ...producer, sourceTopic: deadLetters, journalTopic: deadLetters },
        lookUp,
        logger,
        producer.groupId,
      ),
    sourceReader: (reader: SourceReaderOptions) => new KafkaSourceReader(options, reader, logger),
    /** Reader for tools. @param limitsOf returns the limits of a topic that the connector does not write itself */
    scan: (limitsOf?: (topic: string) => ReadLimits | undefined) =>
      new KafkaTopicScan(options, admin, logger, limitsOf),
    /** Closes the admin connection; groups, producers and readers are closed by their openers. Idempotent. */
    async close() {
      await admin.close();
      options.security?.close();
    },
  };
}

export type KafkaConnection = ReturnType<typeof connectKafka>;
