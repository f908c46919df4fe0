/** Options of the engine and of its source reader, derived from a pipeline's configuration. */
import type { Config, PipelineConfig } from '../config/schema.ts';
import { type ServiceConfig, type ServiceConfigs, servicesOf } from '../config/services.ts';
import type { ReadLimits } from '../kafka/index.ts';
import { ENGINE_LIMITS, type PipelineOptions } from '../pipeline/context/options.ts';

/** Maximum record size as a multiple of content and metadata: JSON may have escapes, and events have other members. */
const LARGEST_RECORD = 4;
const MAX_HEADERS = 1_000;
/** Maximum size of a decompressed record batch. Only a hostile producer can make a batch this large. */
const MAX_BATCH_UNPACKED_BYTES = 1024 ** 3;
/** Maximum size of the metadata as JSON. Decisions repeat it, and Kafka's default limit for records is 1 MiB. */
export const MAX_METADATA_BYTES = 1024 ** 2;

/** Limits on source records. They apply before a record's content is decoded. */
export function readLimits({ maxContentBytes }: PipelineConfig['source']): ReadLimits {
  return {
    maxRecordBytes: LARGEST_RECORD * (maxContentBytes + MAX_METADATA_BYTES),
    maxHeaders: MAX_HEADERS,
    maxBatchUnpackedBytes: MAX_BATCH_UNPACKED_BYTES,
  };
}

/** Returns a function that finds the limits for a topic. Its result is undefined if no pipeline reads the topic. */
export function sourceLimits({ pipelines }: Config): (topic: string) => ReadLimits | undefined {
  return (topic) => {
    const read = pipelines.find(({ source }) => source.topic === topic);
    return read && readLimits(read.source);
  };
}

/** Returns the engine's options for one pipeline. */
export function enginePipeline(config: ServiceConfigs, pipeline: PipelineConfig): PipelineOptions {
  const { types, mapping } = pipeline.source;
  const service = servicesOf(config).get(pipeline.service) as ServiceConfig;
  const areListed = types.length > 0 || 'map' in mapping.type;
  return {
    ...ENGINE_LIMITS,
    ...(areListed && { maxTypes: Infinity }),
    ...pipeline,
    concurrency: service.concurrency,
  };
}
