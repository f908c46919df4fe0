/** Trial of one record with the pipeline's own code, without Kafka and without the service. */

import { textOfString } from '../../../packages/client/src/base/json/json-text.ts';
import type { PipelineConfig } from '../../config/schema.ts';
import { BufferPool } from '../../core/bytes/buffer-pool.ts';
import type { EncodedBody } from '../../core/bytes/row-sink.ts';
import type { KindSteps, PipelineKind } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem, Poison, RecordHeaders, SourceRecord } from '../../core/record.ts';
import { type EventFormat, jsonFormat } from '../../events/format.ts';
import { PLAIN_FORMATS } from '../../events/formats/index.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { type KindServices, kindOf } from '../kinds.ts';

export interface Sample {
  readonly value: Buffer;
  readonly key: string | undefined;
  readonly headers: RecordHeaders;
}

export type SampleOutcome =
  | { readonly outcome: 'skipped'; readonly reason: string }
  | ({ readonly outcome: 'dead_letter' } & Poison)
  | {
      readonly outcome: 'accepted';
      readonly item: ContentItem;
      /** Body of the upload, or path of the lookup request. */
      readonly upload: string;
    };

export interface SampleAnswer {
  /** Assumptions that the trial made, as sentences. */
  readonly notes: readonly string[];
  readonly result: SampleOutcome;
}

/** Tries a record. Sends no request to Kafka or the service. */
export async function trySample(pipeline: PipelineConfig, sample: Sample): Promise<SampleAnswer> {
  const notes: string[] = [];
  const format = formatOf(pipeline, notes);
  const record = recordOf(pipeline, sample, notes);
  const kind = unconnectedKind(pipeline, format);
  const decoded = kind.decode(record, 0);
  if ('skip' in decoded) return { notes, result: { outcome: 'skipped', reason: decoded.skip } };
  if ('poison' in decoded) return { notes, result: { outcome: 'dead_letter', ...decoded.poison } };
  const { item } = decoded;
  const upload =
    pipeline.kind === 'lookup'
      ? `/v1/decisions/${encodeURIComponent(textOfString(item.content))}`
      : (await bodyOf(kind, [item])).body.toString('utf8');
  return { notes, result: { outcome: 'accepted', item, upload } };
}

/**
 * Encodes items as one upload. The upload has its own buffer pool.
 * @param rowKey see KindSteps.rows
 * @throws any error of the kind for an item
 */
export function bodyOf(
  kind: Pick<KindSteps, 'rows'>,
  items: Iterable<ContentItem>,
  rowKey = 'c2FtcGxl',
): Promise<EncodedBody> {
  const sink = kind.rows(new BufferPool(0), rowKey);
  for (const item of items) sink.add(item);
  return sink.finish();
}

/** Returns the kind of a pipeline, only for decoding and encoding. */
export function unconnectedKind(pipeline: PipelineConfig, format: EventFormat): PipelineKind {
  const silent = createLogger({ level: 'silent' });
  return kindOf(pipeline, NO_SERVICE, silent, () => format);
}

const none = (): never => {
  throw new Error('no service is connected');
};
const NO_SERVICE: KindServices = {
  ...{ createBatch: none, getBatch: none, createImport: none, getImport: none, upload: none },
  ...{ download: none, getDecision: none },
};

function formatOf({ source }: PipelineConfig, notes: string[]): EventFormat {
  const format = PLAIN_FORMATS[source.format];
  if (format === undefined)
    notes.push(
      `The sample is read as JSON, because values of format ${source.format} have this form after decoding with a schema from the registry.`,
    );
  return format ?? jsonFormat;
}

function recordOf(
  { source }: PipelineConfig,
  { value, key, headers }: Sample,
  notes: string[],
): SourceRecord {
  const names = headers.map(([name]) => name.toLowerCase());
  const structured =
    source.format === 'cloudevents' &&
    !names.some((name) => name === 'content-type' || name.startsWith('ce_'));
  if (structured)
    notes.push(
      'The sample is read as a structured CloudEvent: content-type application/cloudevents+json.',
    );
  return {
    partition: 0,
    offset: 0,
    timestampMs: Date.now(),
    key: key === undefined ? null : Buffer.from(key),
    value,
    headers: structured ? [...headers, ['content-type', 'application/cloudevents+json']] : headers,
  };
}
