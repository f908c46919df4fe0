/** Kinds with another format of terminal records than the JSON that they render. Dead letters keep theirs. */
import type { ItemRow, ReadRow } from '../../../core/bytes/result-row.ts';
import { SliceWriter } from '../../../core/bytes/slice-writer.ts';
import { attempt } from '../../../core/outcome/internal-error.ts';
import type {
  PerItemKind,
  PipelineKind,
  ResultFileKind,
} from '../../../core/ports/pipeline-kind.ts';
import type { RegisteredFormat } from './registered-format.ts';

export type OutputFormat = Pick<RegisteredFormat, 'encode'>;

/**
 * Encodings accept everything that the kinds render (test/property/events/formats). Should one fail
 * all the same, its record becomes a dead letter, so that it does not block those behind it.
 */
export function withOutputFormat(kind: PipelineKind, format: OutputFormat): PipelineKind {
  const failure: PipelineKind['failure'] = (...of) => format.encode(kind.failure(...of));
  return 'results' in kind
    ? { ...ofResultFiles(kind, format), failure }
    : { ...ofItems(kind, format), failure };
}

function inFormat<R extends ReadRow>(row: R, format: OutputFormat): R | ItemRow {
  if (!('record' in row)) return row;
  const { partition, offset } = row;
  const encoded = attempt(() => format.encode(row.record));
  return 'poison' in encoded
    ? { partition, offset, poison: encoded.poison }
    : { ...row, record: encoded.made };
}

function ofResultFiles(kind: ResultFileKind, format: OutputFormat): ResultFileKind {
  return {
    ...kind,
    async *results(...of) {
      for await (const slice of kind.results(...of)) {
        const encoded = SliceWriter.sliceOf(Array.from(slice, (one) => inFormat(one, format)));
        slice.release();
        yield encoded;
      }
    },
  };
}

function ofItems(kind: PerItemKind, format: OutputFormat): PerItemKind {
  return {
    ...kind,
    async *outcomes(...args) {
      for await (const some of kind.outcomes(...args))
        yield some.map((one) => inFormat(one, format));
    },
    outcomeOf(...args) {
      const one = kind.outcomeOf(...args);
      return one && inFormat(one, format);
    },
  };
}
