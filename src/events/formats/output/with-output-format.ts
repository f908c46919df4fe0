/** Kinds with another format of terminal records than the JSON that they render. Dead letters keep theirs. */
import { parseJson } from '../../../base/json/parse-json.ts';
import type { ItemRow, ReadRow, ResultRow } from '../../../core/bytes/result-row.ts';
import { SliceWriter } from '../../../core/bytes/slice-writer.ts';
import { attempt, InternalError } from '../../../core/outcome/internal-error.ts';
import type {
  PerItemKind,
  PipelineKind,
  ResultFileKind,
} from '../../../core/ports/pipeline-kind.ts';
import type { OutgoingRecord, Poison } from '../../../core/record.ts';
import type { RegisteredFormat } from './registered-format.ts';

export type OutputFormat = Pick<RegisteredFormat, 'name' | 'encode'>;

/** Called with a record that could not be encoded, and is published as a failure (I6). */
type OnUnencodable = (eventId: string, error: unknown) => void;

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
    : { ...ofItems(kind, encode), failure };
}

/** The status is that of a record which is an error only because it could not be encoded. */
type Encoded =
  | (Pick<ResultRow, 'record'> & { readonly status?: 'error' })
  | { readonly poison: Poison };
type Encode = (record: OutgoingRecord) => Encoded;

function inFormat<R extends ReadRow>(row: R, encode: Encode): R | ItemRow {
  if (!('record' in row)) return row;
  const { partition, offset } = row;
  const encoded = encode(row.record);
  return 'poison' in encoded ? { partition, offset, ...encoded } : { ...row, ...encoded };
}

function ofResultFiles(kind: ResultFileKind, encode: Encode): ResultFileKind {
  return {
    ...kind,
    async *results(...of) {
      for await (const slice of kind.results(...of)) {
        const encoded = SliceWriter.sliceOf(Array.from(slice, (one) => inFormat(one, encode)));
        slice.release();
        yield encoded;
      }
    },
  };
}

function ofItems(kind: PerItemKind, encode: Encode): PerItemKind {
  return {
    ...kind,
    async *outcomes(...args) {
      for await (const some of kind.outcomes(...args))
        yield some.map((one) => inFormat(one, encode));
    },
    outcomeOf(...args) {
      const one = kind.outcomeOf(...args);
      return one && inFormat(one, encode);
    },
  };
}

/**
 * Encodings accept everything that the kinds render (test/property/events/formats). Should one
 * fail all the same, the record must not block those behind it: it becomes an error, without the
 * parts that can be at fault. Where even that fails, it becomes a dead letter.
 */
function encoderOf(format: OutputFormat, onUnencodable: OnUnencodable): Encode {
  return (record) => {
    try {
      return { record: format.encode(record) };
    } catch (error) {
      const encoded = attempt(() => {
        const plain = withoutParts(String(record.value), format.name);
        const value = JSON.stringify(plain);
        return { id: plain.id, record: format.encode({ ...record, value }) };
      });
      if ('poison' in encoded) return encoded;
      onUnencodable(encoded.made.id, error);
      return { record: encoded.made.record, status: 'error' };
    }
  };
}

const WITHOUT_PARTS = { result: null, labels: [], metadata: {} };

function withoutParts(json: string, format: string) {
  const { labels_raw, content, ...rest } = parseJson(json) as {
    readonly id: string;
    readonly [member: string]: unknown;
  };
  const message = `The outcome could not be written as ${format}; the connector's log has the cause.`;
  return {
    ...rest,
    ...Object.fromEntries(Object.entries(WITHOUT_PARTS).filter(([name]) => name in rest)),
    status: 'ERROR',
    error: { code: 'encoding_failed', message },
  };
}
