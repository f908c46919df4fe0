/** Checks every terminal record of a run against its published contract (contracts/). */
import { deadLetterProblem, outputProblem } from '../../support/contracts.ts';
import type { ReadRecord } from '../../support/stack/topic-reader.ts';
import type { Complaints } from './complaints.ts';

export function judgeContracts(
  outputs: readonly ReadRecord[],
  deadLetters: readonly ReadRecord[],
  verdict: Complaints,
): void {
  for (const { topic, partition, offset, value, headers } of outputs) {
    const problem = outputProblem(JSON.parse(String(value)), headers);
    if (problem !== undefined) verdict.add(problem, `${topic} ${partition}:${offset}`);
  }
  for (const { topic, partition, offset, headers } of deadLetters) {
    const problem = deadLetterProblem(headers);
    if (problem !== undefined) verdict.add(problem, `${topic} ${partition}:${offset}`);
  }
}
