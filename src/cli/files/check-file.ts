/** Reads a file once, before anything is sent: whether it is what the service takes, and its digest. */
import { createHash } from 'node:crypto';
import { counted } from '../table.ts';
import { foreignKind, markBytes } from './encoding.ts';
import { BadFile, Findings } from './findings.ts';
import type { InputFile } from './input-file.ts';

/** What a file turned out to be. */
export interface Checked {
  /** `2,000 rows, 3 columns`. */
  readonly size: string;
  readonly records: number;
  /** What is allowed, and probably not meant. */
  readonly notes: readonly string[];
}

/** Knows the rules of one kind of file. Is fed from behind a byte order mark. */
export interface FileCheck {
  /** Whether nothing that follows can be understood. */
  readonly ended: boolean;
  feed(chunk: Buffer): Promise<void>;
  finish(): Promise<Checked>;
  /** Repeatable. */
  close(): void;
}

/** A file that may be sent: these bytes, and no others. */
export interface CheckedFile extends Checked {
  readonly input: InputFile;
  /** Where what is sent begins: behind a byte order mark. */
  readonly from: number;
  /** SHA-256 of the whole file. */
  readonly digest: string;
}

const HEAD_BYTES = 4096;

/**
 * @param makeCheck of the kind of file that it should be.
 * @param onProgress told how many bytes were read.
 * @throws BadFile with the first findings; the signal's reason.
 */
export async function checkFile(
  input: InputFile,
  makeCheck: (findings: Findings) => FileCheck,
  {
    signal,
    onProgress,
  }: { readonly signal: AbortSignal; readonly onProgress: (bytes: number) => void },
): Promise<CheckedFile> {
  const head = await input.head(HEAD_BYTES);
  const from = markBytes(head);
  if (input.bytes === from) throw new BadFile(input.name, 'is empty.');
  const foreign = foreignKind(head);
  if (foreign !== undefined) throw new BadFile(input.name, foreign);

  const findings = new Findings();
  const check = makeCheck(findings);
  const hash = createHash('sha256');
  try {
    let bytes = 0;
    for await (const chunk of input.read(0, signal)) {
      hash.update(chunk);
      await check.feed(bytes === 0 ? chunk.subarray(from) : chunk);
      bytes += chunk.length;
      onProgress(bytes);
      if (check.ended) break;
    }
    const checked = await check.finish();
    if (findings.total > 0) throw new BadFile(input.name, findings);
    await input.mustBeUnchanged();
    const marked =
      from === 0
        ? []
        : [`begins with a byte order mark (${counted(from, 'byte')}): it is sent without`];
    return {
      ...checked,
      notes: [...marked, ...checked.notes],
      input,
      from,
      digest: hash.digest('hex'),
    };
  } finally {
    check.close();
  }
}
