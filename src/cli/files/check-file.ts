import { createHash } from 'node:crypto';
import { foreignFormat } from '../../base/foreign-format.ts';
import { BadFile, Findings } from './findings.ts';
import type { InputFile } from './input-file.ts';
import { markBytes } from './text-file.ts';

/** Contents of a file that may be sent. */
export interface CheckedContent {
  /** `2,000 rows, 3 columns`. */
  readonly size: string;
  /** Records or rows. */
  readonly records: number;
  /** Remarks on what is allowed and probably unintended. */
  readonly notes: readonly string[];
}

/** Reads the text of a file behind its byte order mark, and adds what is wrong with it. May stop early. */
export type FileCheck = (
  chunks: AsyncIterable<Buffer>,
  findings: Findings,
) => Promise<CheckedContent>;

/** File that may be sent: these bytes, and no others. */
export interface CheckedFile extends CheckedContent {
  readonly input: InputFile;
  /** Offset of the first byte to send, behind a byte order mark. */
  readonly from: number;
  /** SHA-256 of the whole file. */
  readonly digest: string;
}

/**
 * Reads a file once, before anything is sent.
 * @param onProgress called with the bytes read so far.
 * @throws BadFile with the first findings; the signal's reason.
 */
export async function checkFile(
  input: InputFile,
  check: FileCheck,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<CheckedFile> {
  const head = await input.head(4);
  const from = markBytes(head);
  if (input.bytes === from) throw new BadFile(input.name, 'is empty.');
  const foreign = foreignFormat(head);
  if (foreign !== undefined) throw new BadFile(input.name, `${foreign.what}: ${foreign.remedy}.`);

  const findings = new Findings();
  const hash = createHash('sha256');
  const chunks = async function* () {
    let bytes = 0;
    for await (const chunk of input.read()) {
      signal.throwIfAborted();
      hash.update(chunk);
      yield bytes === 0 ? chunk.subarray(from) : chunk;
      bytes += chunk.length;
      onProgress(bytes);
    }
  };
  const checked = await check(chunks(), findings);
  if (findings.total > 0) throw new BadFile(input.name, findings);

  const notes = [...checked.notes];
  if (from > 0) notes.unshift('begins with a byte order mark, which is not sent');
  return { ...checked, notes, input, from, digest: hash.digest('hex') };
}
