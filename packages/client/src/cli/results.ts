import { abortable } from '../base/abortable.ts';
import type { ReviewedRow } from '../index.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type Output, type OutputPlace, openOutput, STANDARD_OUTPUT } from './output.ts';
import { bar } from './progress.ts';
import type { Session } from './session.ts';
import { counted, grouped, jsonText, printable } from './text.ts';

/** Rows are written together up to this size, in characters. */
const SLICE = 64 * 1024;

class ReaderGone extends Error {}

/** Results of a batch. */
interface Results {
  readonly id: string;
  /** Exit code of the batch. */
  readonly code: ExitCode;
  /** Number of rows, if the service has counted them. */
  readonly rows: number | undefined;
}

/**
 * Saves the results of a batch: the service's own file, or with --json a document for each row.
 * @returns the exit code of the batch, or another one when some rows have no decision.
 */
export async function saveResults(
  session: Session,
  results: Results,
  place: OutputPlace,
): Promise<ExitCode> {
  const { io, progress } = session;
  const { id, code } = results;
  const name = `results of batch ${printable(id)}`;
  let output: Output | undefined;
  try {
    output = await openOutput(io, place);
    const { rows, errors } = await fetchResults(session, results, output);
    await output.complete();
    const failed = errors === 0 ? '' : `, ${grouped(errors)} without a decision`;
    const where = place.target === STANDARD_OUTPUT ? '' : ` in ${printable(place.target)}`;
    progress.note(`${name}: ${counted(rows, 'row')}${failed}${where}`);
    return errors > 0 ? EXIT.problems : code;
  } catch (error) {
    if (!(error instanceof ReaderGone)) throw error;
    return code;
  } finally {
    await output?.discard();
    progress.clear();
  }
}

/** Copies the results of a batch to an output. @throws ReaderGone; OutputFailed; ContentReviewError; the signal's reason */
export async function fetchResults(
  { client, flags, progress, signal }: Session,
  { id, rows: expected }: Pick<Results, 'id' | 'rows'>,
  output: Output,
): Promise<{ readonly rows: number; readonly errors: number }> {
  const { json = false, resultColumn } = flags;
  // A reader that stops reading must not delay an interrupt.
  const write = async (bytes: Uint8Array) => {
    if (!(await abortable(output.write(bytes), signal))) throw new ReaderGone();
  };
  let rows = 0;
  let errors = 0;
  let lines = '';
  const flush = async (from: number) => {
    if (lines.length <= from) return;
    await write(Buffer.from(lines));
    lines = '';
  };
  const onMalformedRow = () => {
    rows += 1;
  };
  const options = json ? { resultColumn } : { onChunk: write, onMalformedRow };
  for await (const row of client.batches.results(id, { signal, ...options })) {
    rows += 1;
    if (row.status === 'ERROR') errors += 1;
    if (json) lines += rowJson(row);
    await flush(SLICE);
    progress.show(() =>
      expected === undefined
        ? `downloading  ${counted(rows, 'row')}`
        : `downloading  ${bar(rows, expected)}  ${grouped(rows)} of ${counted(expected, 'row')}`,
    );
  }
  await flush(0);
  return { rows, errors };
}

function rowJson({ labels: _, labelsJson, ...row }: ReviewedRow): string {
  return `${jsonText(row, { labels: labelsJson })}\n`;
}
