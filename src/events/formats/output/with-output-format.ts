/** A kind whose terminal records go out in another format than the JSON that it renders. Dead letters are not its business. */
import { ResultSlice } from '../../../core/bytes/result-slice.ts';
import { SliceWriter } from '../../../core/bytes/slice-writer.ts';
import { attempt, InternalError } from '../../../core/outcome/internal-error.ts';
import type {
  ItemOutcome,
  PerItemKind,
  PipelineKind,
  ResultFileKind,
} from '../../../core/ports/pipeline-kind.ts';
import type { OutgoingRecord, Poison, SourceCoordinate } from '../../../core/record.ts';
import type { OutputFormat } from './format.ts';

/** Told of a record that could not be encoded, and is published as a failure instead. Never shows content (I6). */
export type OnUnencodable = (eventId: string, error: unknown) => void;

export function withOutputFormat(
  kind: PipelineKind,
  format: OutputFormat,
  onUnencodable: OnUnencodable,
): PipelineKind {
  const encode = encoderOf(format, onUnencodable);
  const failure: PipelineKind['failure'] = (item, error, job) => {
    const encoded = encode(kind.failure(item, error, job));
    if ('poison' in encoded)
      throw new InternalError(encoded.poison.crash ?? encoded.poison.message);
    return encoded.record;
  };
  return 'results' in kind
    ? { ...ofResultFiles(kind, encode), failure }
    : { ...ofSource(kind, encode), failure };
}

type Encoded =
  | {
      readonly record: OutgoingRecord;
      /** It went out as an error, although it was none. */
      readonly failed: boolean;
    }
  | { readonly poison: Poison };
type Encode = (record: OutgoingRecord) => Encoded;

type Ended = SourceCoordinate & {
  readonly status: 'success' | 'error';
  readonly record: OutgoingRecord;
};

function inFormat<T extends Ended>(
  one: T,
  encode: Encode,
): T | (SourceCoordinate & { readonly poison: Poison }) {
  const encoded = encode(one.record);
  if ('poison' in encoded) return { partition: one.partition, offset: one.offset, ...encoded };
  return { ...one, record: encoded.record, status: encoded.failed ? 'error' : one.status };
}

function ofResultFiles(kind: ResultFileKind, encode: Encode): ResultFileKind {
  return {
    ...kind,
    async *results(status, job, signal) {
      const writer = new SliceWriter();
      for await (const slice of kind.results(status, job, signal)) {
        try {
          for (const one of slice) writer.addRow('record' in one ? inFormat(one, encode) : one);
        } finally {
          slice.release();
        }
        const encoded = writer.finish();
        if (encoded !== undefined) yield new ResultSlice(encoded);
      }
    },
  };
}

function ofSource(kind: PerItemKind, encode: Encode): PerItemKind {
  const outcome = (one: ItemOutcome): ItemOutcome =>
    'record' in one ? inFormat(one, encode) : one;
  return {
    ...kind,
    async *outcomes(items, status, job, signal, last) {
      for await (const some of kind.outcomes(items, status, job, signal, last))
        yield some.map(outcome);
    },
    outcomeOf(at, status, job) {
      const one = kind.outcomeOf(at, status, job);
      return one === undefined ? undefined : outcome(one);
    },
  };
}

/**
 * Encodings take everything that the kinds render (test/property/events/formats). Should one fail all the same, the record must not hold
 * up those behind it: it goes out as an error, without the parts that can be at fault. Where even that fails, it becomes a dead letter.
 */
function encoderOf(format: OutputFormat, onUnencodable: OnUnencodable): Encode {
  return (record) => {
    try {
      return { record: format.encode(record), failed: false };
    } catch (error) {
      const encoded = attempt(() => {
        const plain = withoutParts(String(record.value), format.name);
        return { id: plain.id, record: format.encode({ ...record, value: JSON.stringify(plain) }) };
      });
      if ('poison' in encoded) return encoded;
      onUnencodable(encoded.made.id, error);
      return { record: encoded.made.record, failed: true };
    }
  };
}

function withoutParts(json: string, format: string) {
  const whole = JSON.parse(json) as { readonly id: string } & Readonly<Record<string, unknown>>;
  const { labels_raw, content, ...rest } = whole;
  return {
    ...rest,
    status: 'ERROR',
    ...('result' in rest ? { result: null } : {}),
    ...('labels' in rest ? { labels: [] } : {}),
    ...('metadata' in rest ? { metadata: {} } : {}),
    error: {
      code: 'encoding_failed',
      message: `The outcome could not be written as ${format}; the connector's log says why.`,
    },
  };
}
