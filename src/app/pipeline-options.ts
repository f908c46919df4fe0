/** Options of the engine and of its source reader, from a pipeline's configuration. */
import type { Config, PipelineConfig } from '../config/schema.ts';
import { type ServiceConfig, type ServiceConfigs, servicesOf } from '../config/services.ts';
import type { ReadLimits } from '../kafka/index.ts';
import { ENGINE_LIMITS, type PipelineOptions } from '../pipeline/context/options.ts';

/** Largest record as a multiple of content and metadata: escapes make JSON longer, and an event has other members. */
const LARGEST_RECORD = 4;
const MAX_HEADERS = 1_000;
/** Largest decompressed record batch. Only a hostile producer can make a batch grow to this size. */
const MAX_BATCH_UNPACKED_BYTES = 1024 ** 3;
/** Largest metadata, as JSON. A decision repeats them, and Kafka rejects records above 1 MiB by default. */
export const MAX_METADATA_BYTES = 1024 ** 2;

/** Limits on source records, applied before their contents are decoded. */
export function readLimits({ maxContentBytes }: PipelineConfig['source']): ReadLimits {
  return {
    maxRecordBytes: LARGEST_RECORD * (maxContentBytes + MAX_METADATA_BYTES),
    maxHeaders: MAX_HEADERS,
    maxBatchUnpackedBytes: MAX_BATCH_UNPACKED_BYTES,
  };
}

/** Returns the limits for a topic that a pipeline reads; undefined for any other topic. */
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
