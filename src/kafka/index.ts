/** The Kafka adapter: implements src/core/ports/kafka.ts over kafkajs. The only way in for the rest of the project. */
import type { ClusterProbe } from '../core/ports/cluster-probe.ts';
import type {
  ClusterAdmin,
  ShardGroup,
  ShardProducers,
  SourceReader,
} from '../core/ports/kafka.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import type { TopicScan } from '../core/ports/topic-scan.ts';
import { KafkaAdmin } from './admin/admin.ts';
import { KafkaClusterProbe } from './admin/cluster-probe.ts';
import { KafkaTopicScan } from './admin/topic-scan.ts';
import type { ConnectOptions } from './client/connect.ts';
import type { GroupOptions } from './consumer/group-options.ts';
import { KafkaShardGroup } from './consumer/shard-group.ts';
import { KafkaSourceReader, type SourceReaderOptions } from './consumer/source-reader.ts';
import { KafkaShardProducers, type ProducersOptions } from './producer/shard-producer.ts';
import type { ReadLimits } from './records/index.ts';
import type { SaslOptions, TlsOptions } from './security/options.ts';
import { Security, type SecurityOptions } from './security/security.ts';

export { requestFailure } from './client/errors.ts';
export type {
  ConnectOptions,
  GroupOptions,
  ProducersOptions,
  ReadLimits,
  SaslOptions,
  SecurityOptions,
  SourceReaderOptions,
  TlsOptions,
};
export { Security };

/** A cluster, with everything the connector does there. Nothing connects before it is used. */
export interface KafkaConnection {
  readonly admin: ClusterAdmin;
  group(options: GroupOptions): ShardGroup;
  producers(options: ProducersOptions): ShardProducers;
  sourceReader(options: SourceReaderOptions): SourceReader;
  /** For tools that only look. @param limitsOf a topic that the connector does not write itself */
  scan(limitsOf?: (topic: string) => ReadLimits | undefined): TopicScan;
  /** For tools that look for what is wrong. */
  probe(): ClusterProbe;
  /** Closes the admin connection; groups, producers and readers are closed by who opened them. Repeatable. */
  close(): Promise<void>;
}

export function connectKafka(options: ConnectOptions, logger: Logger): KafkaConnection {
  const admin = new KafkaAdmin(options, logger);
  return {
    admin,
    group: (group) => new KafkaShardGroup(options, group, logger),
    producers: (producers) =>
      new KafkaShardProducers(options, producers, (topic) => admin.writable(topic), logger),
    sourceReader: (reader) => new KafkaSourceReader(options, reader, logger),
    scan: (limitsOf) => new KafkaTopicScan(options, admin, logger, limitsOf),
    probe: () => new KafkaClusterProbe(options, logger),
    async close() {
      await admin.close();
      options.security?.close();
    },
  };
}
