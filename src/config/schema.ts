/** The whole configuration: every option of a configuration file, in the order in which docs/configuration.md shows them. */
import type { z } from 'zod';
import type { PemPath } from './load/read-file.ts';
import { group, listOf } from './option.ts';
import { kafkaOptions } from './options/kafka.ts';
import { pipelineOptions } from './options/pipeline.ts';
import {
  httpOptions,
  logOptions,
  memoryOptions,
  metricsOptions,
  shutdownOptions,
} from './options/process.ts';
import { schemaRegistryOptions } from './options/schema-registry.ts';
import { serviceOptions } from './options/service.ts';
import type { Secret } from './secret.ts';
import type { Refusal } from './units.ts';

/**
 * @param readSecret turns what is written for a secret into one: it may look into the environment and into files.
 * @param readPem turns what is written for a PEM file into its path: it looks into the file.
 */
export function configSchema(readSecret: (raw: unknown) => Secret | Refusal, readPem: PemPath) {
  return group('The configuration.', {
    kafka: kafkaOptions(readSecret, readPem),
    service: serviceOptions(readSecret, readPem),
    schemaRegistry: schemaRegistryOptions(readSecret, readPem),
    pipelines: listOf(
      'What this process runs; each pipeline has its own group, journal and shards.',
      pipelineOptions(),
    ),
    http: httpOptions(),
    metrics: metricsOptions(),
    memory: memoryOptions(),
    log: logOptions(),
    shutdown: shutdownOptions(),
  });
}

/** The typed configuration: lengths of time in ms, sizes in bytes, under names that say so. */
export type Config = z.output<ReturnType<typeof configSchema>>;
export type PipelineConfig = Config['pipelines'][number];
