/** Checks of files, fed in pieces of any size. */
import type { Checked, FileCheck } from '../../../src/cli/files/check-file.ts';
import { CsvCheck } from '../../../src/cli/files/csv-check.ts';
import { type Finding, Findings } from '../../../src/cli/files/findings.ts';
import { JsonlCheck } from '../../../src/cli/files/jsonl-check.ts';

export interface Outcome {
  readonly checked: Checked;
  readonly findings: readonly Finding[];
  readonly total: number;
}

async function check(
  make: (findings: Findings) => FileCheck,
  bytes: Buffer,
  chunkBytes: number,
): Promise<Outcome> {
  const findings = new Findings();
  const one = make(findings);
  try {
    for (let at = 0; at < bytes.length && !one.ended; at += chunkBytes)
      await one.feed(bytes.subarray(at, at + chunkBytes));
    return { checked: await one.finish(), findings: findings.first(), total: findings.total };
  } finally {
    one.close();
  }
}

export const checkCsv = (text: string | Buffer, chunkBytes = 1 << 20): Promise<Outcome> =>
  check((findings) => new CsvCheck(findings), Buffer.from(text as string), chunkBytes);

export const checkJsonl = (text: string | Buffer, chunkBytes = 1 << 20): Promise<Outcome> =>
  check((findings) => new JsonlCheck(findings), Buffer.from(text as string), chunkBytes);
