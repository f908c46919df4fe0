/** Checks of files, fed in pieces of any size. */
import type { CheckedContent, FileCheck } from '../../../src/cli/files/check-file.ts';
import { checkCsv as csvCheck } from '../../../src/cli/files/csv-check.ts';
import { Findings } from '../../../src/cli/files/findings.ts';
import { checkJsonl as jsonlCheck } from '../../../src/cli/files/jsonl-check.ts';

export interface Outcome {
  readonly checked: CheckedContent;
  readonly findings: Findings['first'];
  readonly total: number;
}

export async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function check(run: FileCheck, bytes: Buffer, chunkBytes: number): Promise<Outcome> {
  const findings = new Findings();
  const checked = await run(piecesOf(bytes, chunkBytes), findings);
  return { checked, findings: findings.first, total: findings.total };
}

export const checkCsv = (text: string | Buffer, chunkBytes = 1 << 20): Promise<Outcome> =>
  check(csvCheck, Buffer.from(text as string), chunkBytes);

export const checkJsonl = (text: string | Buffer, chunkBytes = 1 << 20): Promise<Outcome> =>
  check(jsonlCheck, Buffer.from(text as string), chunkBytes);
