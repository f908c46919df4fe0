/** The results of a batch, whole: the service's own file, byte for byte, or its rows as JSON Lines. */
import { createHash, type Hash } from 'node:crypto';
import { RequestError, type ResultRow } from '../../client/index.ts';
import { EXIT } from '../exit-codes.ts';
import type { Output } from '../files/output-type.ts';
import { ResultTally, type Tally } from '../files/result-tally.ts';
import { size } from '../progress.ts';
import { counted } from '../table.ts';
import { CommandFailed } from './failures.ts';
import { pause, unlessAborted } from './pause.ts';
import type { Session } from './session.ts';

/** Downloads in a row that bring nothing new. */
const MAX_BREAKS = 5;
const BREAK_WAIT_MS = 500;
/** Rows are written together up to this size, in characters. */
const JSON_SLICE = 64 * 1024;

/** What was written before the reader went away, or all. */
export interface Fetched {
  readonly rows: number | undefined;
  readonly errors: number;
}

/** How much of the file is out. */
interface Written {
  bytes: number;
  readonly hash: Hash;
  readonly tally: ResultTally;
  readerGone: boolean;
}

/**
 * Copies the result file. A download that breaks, or ends too early, is begun again: what is out already is compared and skipped.
 * @throws CommandFailed when it is no result file, shorter than the service counted, or another one than before; what the client throws.
 */
export async function fetchFile(
  session: Session,
  batchId: string,
  output: Output,
): Promise<Fetched> {
  const { client, progress, signal } = session;
  const written: Written = {
    bytes: 0,
    hash: createHash('sha256'),
    tally: new ResultTally(),
    readerGone: false,
  };
  const { counts } = await client.batches.get(batchId, { signal });
  const expected =
    counts.success === undefined || counts.error === undefined
      ? undefined
      : counts.success + counts.error;
  try {
    for (let breaks = 0; ; breaks++) {
      const before = written.bytes;
      try {
        await copyRest(session, batchId, output, written);
        if (written.readerGone) return { rows: undefined, errors: counts.error ?? 0 };
        const tally = await written.tally.finish();
        mustBeWhole(tally, expected);
        if (tally.rows === undefined)
          progress.note('note: the result file is not CSV that can be counted');
        return tally.rows === undefined ? { rows: undefined, errors: counts.error ?? 0 } : tally;
      } catch (error) {
        if (written.bytes > before) breaks = 0;
        if (!brokeOff(error) || breaks >= MAX_BREAKS) throw error;
        progress.note(`the download broke after ${size(written.bytes)}, going on`);
      }
      await pause(BREAK_WAIT_MS * (breaks + 1), signal);
    }
  } finally {
    written.tally.close();
  }
}

async function copyRest(
  { client, progress, signal }: Session,
  batchId: string,
  output: Output,
  written: Written,
): Promise<void> {
  const again = createHash('sha256');
  const digest = written.hash.copy().digest('hex');
  const skip = written.bytes;
  let at = 0;
  for await (const chunk of client.batches.resultFile(batchId, { signal })) {
    const known = chunk.subarray(0, Math.max(0, skip - at));
    at += chunk.length;
    again.update(known);
    if (at >= skip && at - chunk.length < skip && again.copy().digest('hex') !== digest)
      throw changed();
    const fresh = Buffer.from(
      chunk.buffer,
      chunk.byteOffset + known.length,
      chunk.length - known.length,
    );
    if (fresh.length === 0) continue;
    // A reader who has stopped reading must not hold up the end.
    if (!(await unlessAborted(output.write(fresh), signal))) {
      written.readerGone = true;
      return;
    }
    written.bytes += fresh.length;
    written.hash.update(fresh);
    await written.tally.feed(fresh);
    progress.show(() => `downloading  ${size(written.bytes)}`);
  }
  if (at < skip) throw changed();
}

/** The storage had begun to answer. */
const brokeOff = (error: unknown) =>
  error instanceof RequestError &&
  error.operation === 'download' &&
  Math.floor((error.status ?? 0) / 100) === 2;

function mustBeWhole({ isResults, rows, cut }: Tally, expected: number | undefined): void {
  if (!isResults) {
    const what = 'it has neither a column Status nor one that ends in " result"';
    throw new CommandFailed(
      `What the storage sent is no result file: ${what}. Fetch it again.`,
      EXIT.failure,
    );
  }
  const short = rows !== undefined && expected !== undefined && rows < expected;
  if (!cut && !short) return;
  const has = cut ? 'ends within a row' : `has ${counted(rows ?? 0, 'row')}`;
  const but =
    expected === undefined ? '' : `, but the service counted ${expected.toLocaleString('en-US')}`;
  throw new CommandFailed(`The result file ${has}${but}: fetch it again.`, EXIT.failure);
}

function changed(): CommandFailed {
  return new CommandFailed(
    'The result file changed while it was being downloaded: fetch it again.',
    EXIT.failure,
  );
}

/** Writes a JSON document for each row, in the order of the file. */
export async function fetchRows(
  { client, progress, signal }: Session,
  batchId: string,
  output: Output,
  resultColumn?: string,
): Promise<Fetched> {
  let rows = 0;
  let errors = 0;
  let slice = '';
  const flush = async () => {
    const bytes = Buffer.from(slice);
    slice = '';
    return bytes.length === 0 || (await unlessAborted(output.write(bytes), signal));
  };
  for await (const row of client.batches.results(
    batchId,
    resultColumn === undefined ? { signal } : { signal, resultColumn },
  )) {
    rows += 1;
    if (row.status === 'ERROR') errors += 1;
    slice += `${rowJson(row)}\n`;
    if (slice.length >= JSON_SLICE && !(await flush())) return { rows: undefined, errors };
    progress.show(() => `downloading  ${rows.toLocaleString('en-US')} rows`);
  }
  return { rows: (await flush()) ? rows : undefined, errors };
}

function rowJson({
  row,
  content,
  status,
  result,
  expectedResult,
  labelsJson,
  labelsText,
  metadata,
}: ResultRow): string {
  const before = JSON.stringify({ row, content, status, result, expectedResult });
  // Its numbers keep all of their digits.
  return `${before.slice(0, -1)},"labels":${labelsJson},${JSON.stringify({ labelsText, metadata }).slice(1)}`;
}
