/** A kind whose terminal records go out in another format than the JSON that it renders. Dead letters are not its business. */
import { bytesOf } from '../../core/outgoing-bytes.ts';
import type {
  ItemOutcome,
  MalformedRow,
  PipelineKind,
  ResultFileKind,
  ResultRow,
  SourceKind,
} from '../../core/ports/pipeline-kind.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import type { OutputFormat } from './format.ts';

/** Told of a record that could not be encoded, and is published as a failure instead. Never shows content (I6). */
export type OnUnencodable = (eventId: string, error: unknown) => void;

export function withOutputFormat(kind: PipelineKind, format: OutputFormat, onUnencodable: OnUnencodable): PipelineKind {
  const encode = encoderOf(format, onUnencodable);
  const failure: PipelineKind['failure'] = (item, error, job) => encode(kind.failure(item, error, job)).record;
  return 'results' in kind ? { ...ofResultFiles(kind, encode), failure } : { ...ofSource(kind, encode), failure };
}

interface Encoded {
  readonly record: OutgoingRecord;
  /** It went out as an error, although it was none. */
  readonly failed: boolean;
}
type Encode = (record: OutgoingRecord) => Encoded;

function ofResultFiles(kind: ResultFileKind, encode: Encode): ResultFileKind {
  const row = (one: ResultRow | MalformedRow): ResultRow | MalformedRow => {
    if ('malformed' in one) return one;
    const { record, failed } = encode(one.record);
    return { ...one, record, bytes: bytesOf(record), status: failed ? 'error' : one.status };
  };
  return {
    ...kind,
    async *results(status, job, signal) {
      for await (const rows of kind.results(status, job, signal)) yield rows.map(row);
    },
  };
}

function ofSource(kind: SourceKind, encode: Encode): SourceKind {
  const outcome = (one: ItemOutcome): ItemOutcome => {
    if ('poison' in one) return one;
    const { record, failed } = encode(one.record);
    return { ...one, record, status: failed ? 'error' : one.status };
  };
  return {
    ...kind,
    async *outcomes(items, status, job, signal, last) {
      for await (const some of kind.outcomes(items, status, job, signal, last)) yield some.map(outcome);
    },
    outcomeOf(at, status, job) {
      const one = kind.outcomeOf(at, status, job);
      return one === undefined ? undefined : outcome(one);
    },
  };
}

/**
 * Encodings take everything that the kinds render (test/property/formats). Should one fail all the same, the record must not hold
 * up those behind it: it goes out as an error, without the parts that can be at fault, and says so.
 */
function encoderOf(format: OutputFormat, onUnencodable: OnUnencodable): Encode {
  return (record) => {
    try {
      return { record: format.encode(record), failed: false };
    } catch (error) {
      const plain = withoutParts(String(record.value), format.name);
      const encoded = format.encode({ ...record, value: JSON.stringify(plain) });
      onUnencodable(plain.id, error);
      return { record: encoded, failed: true };
    }
  };
}

/** @throws Error when it is no terminal record: then there is nothing to say in its place, and its job must not end. */
function withoutParts(json: string, format: string) {
  const whole = JSON.parse(json) as { readonly id: string } & Readonly<Record<string, unknown>>;
  const { labels_raw, content, ...rest } = whole;
  return {
    ...rest,
    status: 'ERROR',
    ...('result' in rest ? { result: null } : {}),
    ...('labels' in rest ? { labels: [] } : {}),
    ...('metadata' in rest ? { metadata: {} } : {}),
    error: { code: 'encoding_failed', message: `The outcome could not be written as ${format}; the connector's log says why.` },
  };
}
