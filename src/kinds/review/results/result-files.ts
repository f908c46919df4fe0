/** Reader of a pipeline's result files in the caller's thread; thread/result-thread.ts has the one in a thread of their own. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ResultSlice } from '../../../core/bytes/result-slice.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { type ResultFileSettings, type SharedByFiles, sharedByFiles } from './file-settings.ts';
import type { ResultNotice } from './notices.ts';
import { type ReadRows, ResultReader } from './result-reader.ts';

export interface ResultFile {
  /** Asked for each piece. */
  readonly job: () => JobContext;
  /** Rows that the service says it wrote; undefined when it does not say. */
  readonly expectedRows: number | undefined;
}

/**
 * Reads one file, a slice of rows at a time.
 * @throws ServiceError protocol when the file has no usable header, ends inside a quote or in a row that may not be whole, or has a row that is too large;
 * whatever the source throws. All rows before that were yielded.
 */
export type ResultFileReader = (
  source: AsyncIterable<Buffer>,
  file: ResultFile,
) => AsyncIterable<ResultSlice>;

export type CreateResultFileReader = (
  settings: ResultFileSettings,
  onNotice: (notice: ResultNotice) => void,
) => ResultFileReader;

/** Bytes read in one go: a millisecond or less. */
export const PIECE_BYTES = 64 * 1024;
/** Bytes between two turns of the event loop, for a source that always has more at hand. */
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
