/** Reader of result files in the caller's thread. result-thread.ts has a reader that uses a separate thread. */
import { ResultSlice } from '../../../core/bytes/result-slice.ts';
import type { Download, JobContext } from '../../../core/ports/pipeline-kind.ts';
import {
  type FileFacts,
  type ReadRows,
  ResultReader,
  type ResultSettings,
} from './result-reader.ts';
import type { ResultNotice } from './row-decisions.ts';

export interface ResultFile extends FileFacts {
  /** Called for each piece. Returns the context of the piece's decisions. */
  readonly job: () => JobContext;
  /** Called after each piece with the number of bytes held for a large, incomplete row. */
  readonly onHeld?: Download['onHeld'];
  /** Called at the end of a complete file that has a final line end. */
  readonly onLineEnd?: () => void;
  /** Called with the digest of a last row that was not processed because it has no line end. */
  readonly onUnendedRow?: (digest: string) => void;
}

/**
 * Reads a file in slices of rows.
 * @throws ServiceError `protocol` if the file is truncated, has no usable header or has a row that
 * is too large; errors of the source. All earlier rows are yielded first.
 */
export type ResultFileReader = (
  source: AsyncIterable<Buffer>,
  file: ResultFile,
) => AsyncIterable<ResultSlice>;

export type CreateResultFileReader = (
  settings: ResultSettings,
  onNotice: (notice: ResultNotice) => void,
) => ResultFileReader;

/** Maximum number of bytes to read at a time. Reading them takes a few milliseconds at most. */
const PIECE_BYTES = 256 * 1024;

/** Reads result files in the caller's thread. */
export const resultFileReader: CreateResultFileReader = (settings, onNotice) => (source, file) =>
  slicesOf(source, file, () => new ResultReader(settings, file), onNotice);

/** Reads a file piece by piece. At any time, at most one piece is in the reader. */
export async function* slicesOf(
  source: AsyncIterable<Buffer>,
  { job, onHeld, onLineEnd, onUnendedRow }: ResultFile,
  open: () => Pick<ResultReader, 'read' | 'end' | 'close'>,
  onNotice: (notice: ResultNotice) => void,
): AsyncGenerator<ResultSlice, void, undefined> {
  function* rowsOf(read: ReadRows): Generator<ResultSlice> {
    const { rows, problem, unendedRow } = read;
    onHeld?.(read.held);
    for (const notice of read.notices) onNotice(notice);
    if (read.endsLine) onLineEnd?.();
    if (unendedRow !== undefined) onUnendedRow?.(unendedRow);
    if (rows !== undefined) yield new ResultSlice(rows);
    if (problem !== undefined) throw problem;
  }
  const reader = open();
  try {
    for await (const chunk of source)
      for (let start = 0; start < chunk.length; start += PIECE_BYTES)
        yield* rowsOf(await reader.read(chunk.subarray(start, start + PIECE_BYTES), job()));
    yield* rowsOf(await reader.end());
  } finally {
    reader.close();
  }
}
