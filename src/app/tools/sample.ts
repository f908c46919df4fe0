/** Trial of one record with the pipeline's own code, without Kafka and service. */

import { textOfString } from '../../../packages/client/src/base/json/json-text.ts';
import type { PipelineConfig } from '../../config/schema.ts';
import { BufferPool } from '../../core/bytes/buffer-pool.ts';
import type { EncodedBody } from '../../core/bytes/row-sink.ts';
import type { JobContext, KindSteps, PipelineKind } from '../../core/ports/pipeline-kind.ts';
import type {
  ContentItem,
  OutgoingRecord,
  RecordHeaders,
  SourceRecord,
} from '../../core/record.ts';
import { type EventFormat, jsonFormat } from '../../events/format.ts';
import { PLAIN_FORMATS } from '../../events/formats/index.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { type KindServices, kindOf } from '../kinds.ts';

/** Result in the invented answers of the service. */
export const INVENTED_RESULT = 'INVENTED';

/** Key of the sample's row, whose file does not leave the process. */
const ROW_KEY = 'c2FtcGxl';

export interface Sample {
  readonly value: Buffer;
  readonly key: string | undefined;
  readonly headers: RecordHeaders;
  readonly timestampMs: number;
}

/** Terminal record of the sample; the value is JSON in every format. */
export interface PublishedSample {
  readonly topic: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: string;
}

export type SampleOutcome =
  | { readonly outcome: 'skipped'; readonly reason: string }
  | {
      readonly outcome: 'dead_letter';
      readonly topic: string;
      readonly reason: string;
      readonly message: string;
    }
  | {
      readonly outcome: 'accepted';
      /** Content type, for reviews only. */
      readonly type?: string;
      /** Body of the upload, or path of the request of a lookup. */
      readonly upload: string;
      /** With an invented answer of the service. */
      readonly published: PublishedSample;
    };

export interface SampleAnswer {
  readonly kind: PipelineConfig['kind'];
  /** Assumptions, in sentences. */
  readonly notes: readonly string[];
  readonly result: SampleOutcome;
}

/** Makes no request, neither to Kafka nor to the service. */
export async function trySample(pipeline: PipelineConfig, sample: Sample): Promise<SampleAnswer> {
  const notes = new Set<string>();
  const format = formatOf(pipeline, notes);
  const record = recordOf(pipeline, sample, notes);
  let upload = '';
  const kind = unconnectedKind(pipeline, format, () =>
    echoed(upload, pipeline.review.resultColumn),
  );
  const decoded = kind.decode(record, 0);
  const answer = (result: SampleOutcome): SampleAnswer => ({
    ...{ kind: pipeline.kind, notes: [...notes], result },
  });
  if ('skip' in decoded) return answer({ outcome: 'skipped', reason: decoded.skip });
  if ('poison' in decoded)
    return answer({ outcome: 'dead_letter', topic: pipeline.deadLetters.topic, ...decoded.poison });

  const { item } = decoded;
  upload = (await bodyOf(kind, [item], ROW_KEY)).body.toString('utf8');
  const outgoing = await terminalOf(kind, item);
  const published = publishedSample(pipeline.output.topic, outgoing);
  if (pipeline.kind === 'lookup')
    upload = `/v1/decisions/${encodeURIComponent(textOfString(item.content))}`;
  const type = pipeline.kind === 'review' ? { type: item.type } : {};
  return answer({ outcome: 'accepted', ...type, upload, published });
}

/**
 * Encodes items as one upload, without a shared pool.
 * @param rowKey see KindSteps.rows
 * @throws when the kind fails on an item
 */
export function bodyOf(
  kind: Pick<KindSteps, 'rows'>,
  items: Iterable<ContentItem>,
  rowKey?: string,
): Promise<EncodedBody> {
  const sink = kind.rows(new BufferPool(0), rowKey);
  for (const item of items) sink.add(item);
  return sink.finish();
}

/** Decoder of the pipeline's records; undefined when it needs a schema registry. */
export function plainDecoder(pipeline: PipelineConfig): PipelineKind['decode'] | undefined {
  const format = PLAIN_FORMATS[pipeline.source.format];
  return format && unconnectedKind(pipeline, format, () => '').decode;
}

function unconnectedKind(pipeline: PipelineConfig, format: EventFormat, file: () => string) {
  const silent = createLogger({ level: 'silent' });
  return kindOf(pipeline, inventedService(file), silent, () => format);
}

function formatOf({ source }: PipelineConfig, notes: Set<string>): EventFormat {
  const format = PLAIN_FORMATS[source.format];
  if (format === undefined)
    notes.add(
      `The sample is taken for the JSON form of a value in ${source.format}: what the schema registry's schemas make of it.`,
    );
  return format ?? jsonFormat;
}

function recordOf(
  { source }: PipelineConfig,
  { value, key, headers, timestampMs }: Sample,
  notes: Set<string>,
): SourceRecord {
  const names = headers.map(([name]) => name.toLowerCase());
  const structured =
    source.format === 'cloudevents' &&
    !names.some((name) => name === 'content-type' || name.startsWith('ce_'));
  if (structured)
    notes.add(
      'The sample is taken for a structured CloudEvent: content-type application/cloudevents+json.',
    );
  return {
    partition: 0,
    offset: 0,
    timestampMs,
    key: key === undefined ? null : Buffer.from(key),
    value,
    headers: structured ? [...headers, ['content-type', 'application/cloudevents+json']] : headers,
  };
}

async function terminalOf(kind: PipelineKind, item: ContentItem): Promise<OutgoingRecord> {
  const ids = { jobId: 'sample', remoteId: 'sample' };
  const about = { ...ids, type: item.type, attempt: 1, rowKey: ROW_KEY };
  const job: JobContext = { ...about, decidedAtMs: Date.now() };
  const { signal } = new AbortController();
  const status = { state: 'finished', rawState: 'COMPLETE', resultUrl: 'sample' } as const;
  const slices =
    'results' in kind
      ? kind.results(status, () => job, signal)
      : kind.outcomes([item], status, () => job, signal, false);
  for await (const [first] of slices) {
    if (first !== undefined && 'record' in first) return first.record;
    throw new Error(
      `the sample did not come back: ${first !== undefined && 'malformed' in first ? first.malformed : 'no result'}`,
    );
  }
  throw new Error('the sample did not come back');
}

/** Service that returns every upload, decided. */
export function inventedService(file: () => string): KindServices {
  const none = (): never => {
    throw new Error('a sample calls no service');
  };
  return {
    ...{ createBatch: none, getBatch: none, createImport: none, getImport: none, upload: none },
    download: async function* () {
      yield Buffer.from(file());
    },
    getDecision: async () => ({
      rawStatus: 'SUCCESS',
      metadataJson: '{}',
      result: INVENTED_RESULT,
      labelsJson: '[]',
    }),
  };
}

/** Result file of an upload with one row. No name in its header has a line end. */
function echoed(upload: string, resultColumn = 'Service result'): string {
  const column = `"${resultColumn.replaceAll('"', '""')}"`;
  return `Status,${column},Labels,${upload.replace('\r\n', `\r\nSUCCESS,${INVENTED_RESULT},[],`)}`;
}

function publishedSample(
  topic: string,
  { key, value, headers = [] }: OutgoingRecord,
): PublishedSample {
  const text = (bytes: Buffer | string) => bytes.toString('utf8');
  const flat: Record<string, string> = {};
  for (const [name, value] of headers)
    flat[name] = [...(name in flat ? [flat[name]] : []), text(value ?? '')].join(', ');
  return {
    topic,
    key: key === null ? null : text(key),
    headers: flat,
    value: text(value ?? ''),
  };
}
