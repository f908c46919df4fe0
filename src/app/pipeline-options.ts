/** From the configuration of a pipeline to what the engine takes. */
import type { Config, PipelineConfig } from '../config/schema.ts';
import type { ReadLimits } from '../kafka/index.ts';
import type { PipelineOptions } from '../pipeline/context/options.ts';

/** Rows of one settling transaction, and the bytes that end a chunk earlier: measured, see docs/adr/0005. */
const CHUNK = { maxRows: 5_000, maxBytes: 4 * 1024 * 1024 };
/** Encoded offsets of one job: far below Kafka's 1 MB message. */
const MAX_OFFSET_BYTES = 256 * 1024;
const UPLOAD_DRAIN_MS = 60_000;
const RESET_CONFIRM_MS = 2_000;
const CLAIMS_AT_A_TIME = 8;

/** Times content and metadata: escapes make JSON longer, and an event has other members. */
const LARGEST_RECORD = 4;

/** Limits on source records, applied before their contents are decoded. */
export function readLimits(source: PipelineConfig['source']): ReadLimits {
  const { maxContentBytes, maxMetadataBytes, maxHeaders, maxBatchUnpackedBytes } = source;
  return {
    maxRecordBytes: LARGEST_RECORD * (maxContentBytes + maxMetadataBytes),
    maxHeaders,
    maxBatchUnpackedBytes,
  };
}

/** Limits for a topic that a pipeline reads; undefined for any other topic. */
export function sourceLimits({ pipelines }: Config): (topic: string) => ReadLimits | undefined {
  return (topic) => {
    const read = pipelines.find(({ source }) => source.topic === topic);
    return read && readLimits(read.source);
  };
}

export function enginePipeline(config: Config, pipeline: PipelineConfig): PipelineOptions {
  const { review, kafka } = pipeline;
  return {
    name: pipeline.name,
    source: {
      topic: pipeline.source.topic,
      group: pipeline.source.group,
      startFrom: pipeline.source.startFrom,
      maxSpan: pipeline.source.maxSpan,
    },
    journal: {
      topic: pipeline.journal.topic,
      partitions: pipeline.journal.partitions,
      replicationFactor: pipeline.journal.replicationFactor,
    },
    output: { topic: pipeline.output.topic, order: pipeline.output.order },
    deadLetters: { topic: pipeline.deadLetters.topic },
    batch: {
      maxRows: pipeline.batch.maxRows,
      maxBytes: pipeline.batch.maxBytes,
      maxAgeMs: pipeline.batch.maxAgeMs,
      maxOffsetBytes: MAX_OFFSET_BYTES,
    },
    chunk: CHUNK,
    retry: {
      attempts: review.attempts,
      maxBatchesPerJob: review.maxBatches,
      onFailure: review.onFailure,
      errorRowAttempts: review.errorRows === 'retry' ? review.errorRowAttempts : 1,
      downloads: review.downloads,
    },
    review: {
      pollInitialMs: review.poll.initialMs,
      pollMaxMs: review.poll.maxMs,
      maxReviewMs: review.maxReviewTimeMs,
      onTimeout: review.onTimeout,
      onRejectedType: review.onRejectedType,
      uploadGraceMs: review.uploadGraceMs,
      missingGraceMs: review.missingGraceMs,
      typePauseMs: review.typePauseMs,
      authPauseMs: review.authPauseMs,
    },
    timing: {
      sessionTimeoutMs: kafka.sessionTimeoutMs,
      transactionTimeoutMs: kafka.transactionTimeoutMs,
      progressIntervalMs: kafka.progressIntervalMs,
      probeIntervalMs: kafka.probeIntervalMs,
      uploadDrainMs: UPLOAD_DRAIN_MS,
      resetConfirmMs: RESET_CONFIRM_MS,
    },
    metrics: { maxResults: config.metrics.maxResults },
    concurrency: {
      uploads: config.service.concurrency.transfers,
      polls: config.service.concurrency.requests,
      // As many as uploads: with fewer, intake runs ahead of settling for as long as `maxSpan` allows. Memory for each is reserved.
      downloads: config.service.concurrency.transfers,
      claims: CLAIMS_AT_A_TIME,
    },
  };
}
