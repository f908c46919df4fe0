/** Runs checks in order, each within its time limit. */
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import { type Diagnosis, type DoctorCheck, failed, messageOf, notTried } from './check.ts';

export interface CheckReport extends Diagnosis {
  readonly check: DoctorCheck;
  readonly durationMs: number;
}

const DEFAULT_LIMIT_MS = 15_000;

/**
 * @param report called with each result as soon as the check has ended
 * @returns all results, in the order of the checks. Rejects only with the reason of the signal.
 */
export async function runChecks(
  checks: readonly DoctorCheck[],
  clock: Clock,
  signal: AbortSignal,
  report: (result: CheckReport) => void,
): Promise<CheckReport[]> {
  const reports: CheckReport[] = [];
  for (const check of checks) {
    const startedMs = clock.monotonic();
    const diagnosis = blocked(check, reports) ?? (await tried(check, clock, signal));
    const result = {
      check,
      ...diagnosis,
      durationMs: clock.monotonic() - startedMs,
    };
    reports.push(result);
    report(result);
  }
  return reports;
}

function blocked(
  { needs = [], pipeline }: DoctorCheck,
  reports: readonly CheckReport[],
): Diagnosis | undefined {
  const blocker = reports.find(
    ({ check, status }) =>
      (status === 'failed' || status === 'skipped') &&
      needs.includes(check.name) &&
      (check.pipeline === undefined || check.pipeline === pipeline),
  );
  if (blocker === undefined) return undefined;
  // A skipped check already names the first cause.
  const { check, status, found } = blocker;
  return status === 'failed' ? notTried(`${titleOf(check)} failed`) : { status, found };
}

/** Subject of a check as its line shows it. */
export const titleOf = ({ pipeline, about }: DoctorCheck): string =>
  pipeline === undefined ? about : `${pipeline}: ${about}`;

async function tried(check: DoctorCheck, clock: Clock, signal: AbortSignal): Promise<Diagnosis> {
  const { limitMs = DEFAULT_LIMIT_MS } = check;
  const limit = new AbortController();
  const cancel = clock.after(limitMs, () => limit.abort());
  const either = AbortSignal.any([limit.signal, signal]);
  try {
    signal.throwIfAborted();
    return await abortable(check.run(either), either);
  } catch (error) {
    signal.throwIfAborted();
    if (!limit.signal.aborted) return failed(messageOf(error));
    const seconds = Math.round(limitMs / 1_000);
    return failed(`no answer within ${seconds} s`, 'check the network and the load on both sides');
  } finally {
    cancel();
  }
}
