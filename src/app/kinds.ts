/** Creates a pipeline's kind from its configuration. No other code lists all kinds. */
import { systemClock, systemRandom } from '../../packages/client/src/base/clock.ts';
import type { EventFormatName } from '../config/options/source.ts';
import type { PipelineConfig } from '../config/schema.ts';
import type { PipelineKind } from '../core/ports/pipeline-kind.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { TRACE_HEADERS } from '../core/trace-context.ts';
import type { EventFormat } from '../events/format.ts';
import { outsideSample } from '../events/sampling.ts';
import { importKind } from '../kinds/import/index.ts';
import { lookupKind } from '../kinds/lookup/index.ts';
import { reviewKind } from '../kinds/review/index.ts';
import type { CreateResultFileReader } from '../kinds/review/results/result-files.ts';
import { NOTICES } from '../kinds/review/results/row-decisions.ts';
import type { ImportService, LookupService, ReviewService } from '../kinds/service-ports.ts';
import type { CallPacer } from '../pipeline/limits/call-pacer.ts';
import { MAX_METADATA_BYTES } from './pipeline-options.ts';

/** Calls to the service that the kinds need. `packages/client/src/client.ts` implements them. */
export type KindServices = ReviewService & ImportService & LookupService;

/** Returns the service with calls that wait for their turn. Transfers do not. */
export function pacedServices(service: KindServices, pacer: CallPacer): KindServices {
  const paced = <C extends object>(call: C) => ({
    ...call,
    beforeRequest: (signal: AbortSignal) => pacer.turn(signal),
  });
  return {
    createBatch: (type, call) => service.createBatch(type, paced(call)),
    getBatch: (id, call) => service.getBatch(id, paced(call)),
    createImport: (call) => service.createImport(paced(call)),
    getImport: (id, call) => service.getImport(id, paced(call)),
    getDecision: (id, call) => service.getDecision(id, paced(call)),
    upload: (...of) => service.upload(...of),
    download: (...of) => service.download(...of),
  };
}

/**
 * Creates the kind of a pipeline.
 * @param formatOf returns the reader of a format
 * @param createReader creates the reader of result files; default: a reader in the caller's thread
 */
export function kindOf(
  pipeline: PipelineConfig,
  service: KindServices,
  logger: Logger,
  formatOf: (name: EventFormatName) => EventFormat,
  createReader?: CreateResultFileReader,
): PipelineKind {
  const { source, batch, output, review } = pipeline;
  const { mapping } = source;
  const common = {
    topic: source.topic,
    format: formatOf(source.format),
    type: mapping.type,
    ...(source.types.length > 0 && { allowedTypes: source.types }),
    headers: output.headers,
    nullValues: source.nullValues,
    ...(source.sample < 100 && { isOutsideSample: outsideSample(source.topic, source.sample) }),
    filter: source.filter,
    lanes: pipeline.lanes,
    outputKey: output.key,
  };
  switch (pipeline.kind) {
    case 'review':
      return reviewKind(
        {
          ...source,
          ...mapping,
          ...batch,
          ...common,
          maxMetadataBytes: MAX_METADATA_BYTES,
          // Trace headers are kept to link the spans of batches to the spans of their events.
          headers: [...new Set([...output.headers, ...TRACE_HEADERS])],
          withheldHeaders: TRACE_HEADERS.filter((name) => !output.headers.includes(name)),
          expected: mapping.expectedResult,
          includeContent: output.includeContent,
          ...(createReader && { createReader }),
          ...(review.resultColumn && { resultColumn: review.resultColumn }),
          columns: review.columns,
          onNotice: (notice) => logger.warn({ notice }, NOTICES[notice.kind]),
        },
        service,
      );
    case 'import':
      return importKind(
        { ...common, data: mapping.data, maxLineBytes: source.maxContentBytes },
        service,
      );
    case 'lookup':
      return lookupKind(
        {
          ...common,
          ...review,
          decisionId: mapping.decisionId,
          monotonic: () => systemClock.monotonic(),
          newId: () => systemRandom.id(),
          onNotice: (status) =>
            logger.warn(
              { status: status.slice(0, 80) },
              'unknown decision status: treated as pending',
            ),
          onBadAnswer: (message) =>
            logger.warn({ error: message }, 'invalid response about a decision: retrying'),
        },
        service,
      );
  }
}
