/** Reader of result files in the caller's thread; for the one in its own thread see thread/. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ResultSlice } from '../../../core/bytes/result-slice.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { type ResultFileSettings, type SharedByFiles, sharedByFiles } from './file-settings.ts';
import type { ResultNotice } from './notices.ts';
import { type ReadRows, ResultReader } from './result-reader.ts';

export interface ResultFile {
  /** Called for each piece. */
  readonly job: () => JobContext;
  /** Rows reported by the service; undefined if it reports none. */
  readonly expectedRows: number | undefined;
}

/**
 * Reads a file, a slice of rows at a time.
 * @throws ServiceError `protocol` for a file that is truncated, has no usable header or a row that
 * is too large; errors of the source. All rows before that are yielded.
 */
export type ResultFileReader = (
  source: AsyncIterable<Buffer>,
  file: ResultFile,
) => AsyncIterable<ResultSlice>;

export type CreateResultFileReader = (
  settings: ResultFileSettings,
  onNotice: (notice: ResultNotice) => void,
) => ResultFileReader;

/** Bytes read at a time: a millisecond or less. */
export const PIECE_BYTES = 64 * 1024;
/** Bytes after which other events are handled, for a source that is never empty. */
const TURN_BYTES = 512 * 1024;

/** Reads in the caller's thread. */
export const resultFileReader: CreateResultFileReader = (settings, onNotice) => {
  const shared = sharedByFiles(settings, onNotice);
  return (source, file) => readHere(source, file, shared);
};

async function* readHere(
  source: AsyncIterable<Buffer>,
  { job, expectedRows }: ResultFile,
  shared: SharedByFiles,
): AsyncGenerator<ResultSlice, void, undefined> {
  const reader = new ResultReader(shared, expectedRows);
  let sinceTurn = 0;
  try {
    for await (const chunk of source) {
      for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
        yield* rowsOf(await reader.read(chunk.subarray(start, start + PIECE_BYTES), job()));
        sinceTurn += PIECE_BYTES;
        if (sinceTurn < TURN_BYTES) continue;
        sinceTurn = 0;
        await nextTurn();
      }
    }
    yield* rowsOf(await reader.end());
  } finally {
    reader.close();
  }
}

function* rowsOf({ rows, problem }: ReadRows): Generator<ResultSlice, void, undefined> {
  if (rows !== undefined) yield new ResultSlice(rows);
  if (problem !== undefined) throw problem;
}
