/** Context of a pipeline: ports, options, and limits that its shards share. */
import type { Clock, Random } from '../../../packages/client/src/base/clock.ts';
import type { Tracer } from '../../../packages/client/src/base/tracing.ts';
import type {
  ClusterAdmin,
  ShardGroup,
  ShardProducers,
  SourceReader,
} from '../../core/ports/kafka.ts';
import type { PipelineKind } from '../../core/ports/pipeline-kind.ts';
import type { HealthReporter, Logger, Metrics } from '../../core/ports/telemetry.ts';
import type { CallPacer } from '../limits/call-pacer.ts';
import type { Lanes } from '../limits/lanes.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import type { Limits } from '../limits/shard-waits.ts';
import type { TypeBreakers, TypeLimit } from '../limits/type-breakers.ts';
import type { WaitReasons } from '../limits/wait-reasons.ts';
import type { EndOffsets } from './end-offsets.ts';
import type { InternalErrors } from './errors.ts';
import type { Ledger } from './ledger.ts';
import type { PipelineOptions } from './options.ts';

/** Ports of one pipeline. */
export interface PipelinePorts {
  readonly group: ShardGroup;
  readonly producers: ShardProducers;
  readonly admin: ClusterAdmin;
  readonly reader: SourceReader;
  readonly kind: PipelineKind;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly health: HealthReporter;
  readonly tracer: Tracer;
  /** Pacer of the calls that `kind` makes; undefined without a limit of them. */
  readonly calls?: CallPacer | undefined;
}

export interface PipelineContext extends PipelinePorts {
  readonly options: PipelineOptions;
  readonly instance: string;
  readonly budget: MemoryBudget;
  readonly ledger: Ledger;
  readonly internal: InternalErrors;
  readonly breakers: TypeBreakers;
  readonly typeLimit: TypeLimit;
  readonly ends: EndOffsets;
  readonly waits: WaitReasons;
  readonly lanes: Lanes;
  readonly limits: Limits;
  /** Properties of the topics at the start. */
  readonly topics: TopicFacts;
}

export interface TopicFacts {
  /** K, the number of shards. */
  readonly shards: number;
  /** Time in ms for which the journal keeps tombstones. A recovery must take less than half of it. */
  readonly deleteRetentionMs: number;
  /** max.message.bytes of the output topic. Infinity if the connector may not read the setting. */
  readonly maxOutputBytes: number;
  /** max.message.bytes of the dead-letter topic. Kafka's default if the connector may not read the setting. */
  readonly maxDeadLetterBytes: number;
}
