/** Every option of a configuration file, in the order of docs/configuration.md. */
import { group, listOf, type Parsed } from './option.ts';
import { kafkaOptions } from './options/kafka.ts';
import { pipelineOptions } from './options/pipeline.ts';
import { processOptions } from './options/process.ts';
import { schemaRegistryOptions } from './options/schema-registry.ts';
import { serviceOptions } from './options/service.ts';

const MAX_PIPELINES = 100;

export const CONFIGURATION = group('The configuration.', {
  kafka: kafkaOptions,
  service: serviceOptions,
  schemaRegistry: schemaRegistryOptions,
  pipelines: listOf(
    `Pipelines of this process, at most ${MAX_PIPELINES}; each has its own group, journal and shards.`,
    MAX_PIPELINES,
    pipelineOptions,
  ),
  ...processOptions,
});

/** Typed configuration: durations in ms and sizes in bytes, under names that end in the unit. */
export type Config = Parsed<typeof CONFIGURATION>;
export type PipelineConfig = Config['pipelines'][number];
