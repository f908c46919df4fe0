/** Which kind a pipeline is, from its configuration: the only place that knows them all. */

import { systemClock } from '../base/system-clock.ts';
import type { EventFormatName } from '../config/options/source.ts';
import type { PipelineConfig } from '../config/schema.ts';
import type { PipelineKind } from '../core/ports/pipeline-kind.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { TRACE_HEADERS } from '../core/trace-context.ts';
import type { EventFormat } from '../events/format.ts';
import { importKind } from '../kinds/import/index.ts';
import { lookupKind } from '../kinds/lookup/index.ts';
import { reviewKind } from '../kinds/review/index.ts';
import { NOTICES } from '../kinds/review/results/notices.ts';
import type { CreateResultFileReader } from '../kinds/review/results/result-files.ts';
import type { ImportService, LookupService, ReviewService } from '../kinds/service.ts';
import { systemRandom } from './system.ts';

/** What the kinds need of the service. `src/service/client.ts` satisfies it. */
export type KindServices = ReviewService & ImportService & LookupService;

/**
 * @param formatOf how values of that format are read
 * @param createReader how result files are read
 */
export function kindOf(
  pipeline: PipelineConfig,
  service: KindServices,
  logger: Logger,
  formatOf: (name: EventFormatName) => EventFormat,
  createReader?: CreateResultFileReader,
): PipelineKind {
  const { source, output } = pipeline;
  const { mapping } = source;
  const common = {
    topic: source.topic,
    format: formatOf(source.format),
    type: mapping.type,
    ...(source.types.length === 0 ? {} : { allowedTypes: source.types }),
    headers: output.traceHeaders
      ? [...new Set([...output.headers, ...TRACE_HEADERS])]
      : output.headers,
    nullValues: source.nullValues,
    filter: source.filter,
    outputKey: output.key,
  };
  switch (pipeline.kind) {
    case 'review':
      return reviewKind(
        {
          ...common,
          content: mapping.content,
          contentKind: mapping.contentKind,
          metadata: mapping.metadata,
          ...(mapping.flatten ? { flattenWith: mapping.flattenSeparator } : {}),
          expected: mapping.expectedResult,
          maxContentBytes: source.maxContentBytes,
          maxMetadataBytes: source.maxMetadataBytes,
          maxMetadataKeys: source.maxMetadataKeys,
          referenceColumn: pipeline.batch.referenceColumn,
          escapeFormulas: pipeline.batch.escapeFormulas,
          includeContent: output.includeContent,
          ...(createReader === undefined ? {} : { createReader }),
          ...(pipeline.review.resultColumn !== undefined && {
            resultColumn: pipeline.review.resultColumn,
          }),
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
          decisionId: mapping.decisionId,
          missingGraceMs: pipeline.review.missingGraceMs,
          onFailure: pipeline.review.onFailure,
          monotonic: () => systemClock.monotonic(),
          newId: () => systemRandom.id(),
          onNotice: (status) =>
            logger.warn(
              { status: status.slice(0, 80) },
              'a decision has a status that this version does not know: treated as pending',
            ),
          onBadAnswer: (message) =>
            logger.warn(
              { error: message },
              'the answer about a decision makes no sense; trying again',
            ),
        },
        service,
      );
  }
}
