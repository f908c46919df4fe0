/** Checks of the service: reachable, trusted, and accepting the key. Nothing is created there. */
import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import type { DoctorParts } from './check.ts';
import { type Diagnosis, type DoctorCheck, failed, notTried, ok, warning } from './check.ts';

/** Object that the pipelines of a kind create or read at the service. */
const OBJECTS: Readonly<Record<string, string>> = { import: 'import', lookup: 'decision' };
const objectOf = (kind: string): string => OBJECTS[kind] ?? 'batch';

/** Name of the check that tries the API of a pipeline kind. */
export const apiCheckOf = (kind: string): string => `service.${objectOf(kind)}`;

/** Presigned addresses are valid for minutes, and the storage compares clocks itself. */
const SKEW_WARNING_MS = 30_000;
const SKEW_FAILURE_MS = 5 * 60_000;

export function serviceChecks({ service, pipelines }: DoctorParts): DoctorCheck[] {
  const kinds = new Set(pipelines.map(({ inspection }) => inspection.pipeline.kind));
  return [
    ...[...kinds].map((kind) => ({
      name: apiCheckOf(kind),
      about: `service ${service.address}, request for an unknown ${objectOf(kind)}`,
      run: (signal: AbortSignal) => requested(service.ask(kind, signal), kind),
    })),
    {
      name: 'service.clock',
      about: 'clock of this machine',
      run: async () => clockSkew(service.clockAheadMs()),
    },
  ];
}

async function requested(answer: Promise<void>, kind: string): Promise<Diagnosis> {
  try {
    await answer;
    return warning('it returned one for a random id', 'check that service.baseUrl is right');
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { failure, status, message } = error;
    if (failure === 'not_found') {
      const path = kind === 'import' ? 'service.baseUrl or service.importPath' : 'service.baseUrl';
      return ok(
        `answered ${status ?? 404} as expected; a wrong path in ${path} would look the same (--round-trip distinguishes them)`,
      );
    }
    // The message ends with the remedy.
    return failure === 'rejected' && status !== undefined ? warning(message) : failed(message);
  }
}

function clockSkew(aheadMs: number | undefined): Diagnosis {
  if (aheadMs === undefined) return notTried('no response of the service had a date');
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  if (seconds === 0) return ok('same time as at the service');
  const found = `${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} that of the service`;
  const remedy = 'set the clock (NTP): addresses for uploads and downloads expire';
  if (Math.abs(aheadMs) > SKEW_FAILURE_MS) return failed(found, remedy);
  return Math.abs(aheadMs) > SKEW_WARNING_MS ? warning(found, remedy) : ok(found);
}
