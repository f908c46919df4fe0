/** How a pipeline decodes and filters a record, for tools that look at what became of it. */
import type { PipelineConfig } from '../../config/schema.ts';
import type { SourceRecord } from '../../core/record.ts';
import { PLAIN_FORMATS } from '../../events/formats/index.ts';
import type { Decoder } from '../../events/record-decoder.ts';
import { FILTERED } from '../../events/record-filter.ts';
import { createLogger } from '../../telemetry/logging/logger.ts';
import { kindOf } from '../kinds.ts';
import { inventedService } from './sample.ts';

/** Decodes records as the pipeline does; undefined when that takes a schema registry. */
export function plainDecoder(pipeline: PipelineConfig): Decoder | undefined {
  const { format } = pipeline.source;
  if (format !== 'json' && format !== 'text' && format !== 'cloudevents') return undefined;
  const silent = createLogger({ level: 'silent' });
  const { decode } = kindOf(
    pipeline,
    inventedService(() => ''),
    silent,
    () => PLAIN_FORMATS[format],
  );
  return decode;
}

/** undefined without a filter; what it gives is undefined when only a schema registry could tell. */
export function filterOf(
  pipeline: PipelineConfig,
): ((record: SourceRecord) => boolean | undefined) | undefined {
  if (pipeline.source.filter === undefined) return undefined;
  const decode = plainDecoder(pipeline);
  if (decode === undefined) return () => undefined;
  return (record) => {
    const decoded = decode(record, 0);
    return 'skip' in decoded && decoded.skip === FILTERED.skip;
  };
}
