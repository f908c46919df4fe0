/** What `source.filter` says of a record, for tools that look at what became of it. */
import type { PipelineConfig } from '../config/schema.ts';
import type { SourceRecord } from '../core/record.ts';
import { FILTERED } from '../event/record-filter.ts';
import { PLAIN_FORMATS } from '../formats/index.ts';
import { createLogger } from '../telemetry/logger.ts';
import { kindOf } from './kinds.ts';
import { inventedService } from './sample.ts';

/** undefined without a filter; what it gives is undefined when only a schema registry could tell. */
export function filterOf(pipeline: PipelineConfig): ((record: SourceRecord) => boolean | undefined) | undefined {
  const { filter, format } = pipeline.source;
  if (filter === undefined) return undefined;
  if (format !== 'json' && format !== 'text' && format !== 'cloudevents') return () => undefined;
  const silent = createLogger({ level: 'silent' });
  const { decode } = kindOf(
    pipeline,
    inventedService(() => ''),
    silent,
    () => PLAIN_FORMATS[format],
  );
  return (record) => {
    const decoded = decode(record, 0);
    return 'skip' in decoded && decoded.skip === FILTERED.skip;
  };
}
