/** The service: found, trusted, and taking the key. It is asked for things that cannot exist, and nothing is made there. */
import { ServiceError } from '../../core/outcome/service-error.ts';
import { certificateFindings } from './certificates.ts';
import { type Check, type Finding, failed, ok, skipped, warning } from './check.ts';
import type { DoctorParts, ServiceQuestion } from './parts.ts';

const AHEAD_WARNING_MS = 30_000;
/** Presigned addresses are made for some minutes, and storage compares clocks itself. */
const AHEAD_FAILURE_MS = 5 * 60_000;

const QUESTIONS: Readonly<Record<string, ServiceQuestion>> = {
  review: 'batch',
  import: 'import',
  lookup: 'decision',
};

export interface ServiceChecks {
  readonly checks: readonly Check[];
  /** By what was asked for. */
  readonly asked: ReadonlyMap<ServiceQuestion, Check>;
}

export const questionOf = (kind: string): ServiceQuestion => QUESTIONS[kind] ?? 'batch';

export function serviceChecks({ service, pipelines, clock }: DoctorParts): ServiceChecks {
  const about = `service ${service.address}`;
  const address: Check = {
    name: 'service.address',
    about: service.proxy === undefined ? about : `${about} through proxy ${service.proxy}`,
    async run() {
      try {
        return ok(`found at ${(await service.lookUp()).join(', ')}`);
      } catch (error) {
        const { code } = error as { readonly code?: unknown };
        // Anything else is about files or settings, and explains itself.
        if (typeof code !== 'string') throw error;
        const option =
          service.proxy === undefined
            ? 'service.baseUrl'
            : 'service.proxy, HTTPS_PROXY or NO_PROXY';
        return failed(
          `its host is not known here (${code})`,
          `correct ${option}, or the name servers of this machine`,
        );
      }
    },
  };
  const checks: Check[] = [address];
  const asked = new Map<ServiceQuestion, Check>();
  for (const question of new Set(
    pipelines.map(({ inspection }) => questionOf(inspection.pipeline.kind)),
  )) {
    const check: Check = {
      name: `service.${question}`,
      about: `${about}, asked for ${question === 'batch' ? 'a batch' : question === 'import' ? 'an import' : 'a decision'} that does not exist`,
      needs: [address],
      run: (signal) => ask(service.ask(question, signal), question),
    };
    checks.push(check);
    asked.set(question, check);
  }
  const { certificates } = service;
  if (certificates !== undefined) {
    checks.push({
      name: 'service.certificates',
      about: 'certificates for the service',
      needs: [address],
      run: async () => certificateFindings(await certificates(), clock.now()),
    });
  }
  checks.push({
    name: 'service.clock',
    about: 'clock of this machine',
    needs: [address],
    // A refusal has a date as well.
    after: [...asked.values()],
    run: async () => clockFinding(service.clockAheadMs()),
  });
  return { checks, asked };
}

async function ask(answer: Promise<void>, question: ServiceQuestion): Promise<Finding> {
  try {
    await answer;
    return warning(
      'it knows one by an id that was made up here',
      'look at who answers there: is service.baseUrl right?',
    );
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { failure, status } = error;
    if (failure === 'not_found') {
      const path =
        question === 'import' ? 'service.baseUrl or service.importPath' : 'service.baseUrl';
      return ok(
        `answers ${status ?? 404}, as it should; a wrong path in ${path} would look the same (--round-trip tells)`,
      );
    }
    // The message ends with what to do.
    if (failure === 'rejected' && status !== undefined) return warning(error.message);
    return failed(error.message);
  }
}

function clockFinding(aheadMs: number | undefined): Finding {
  if (aheadMs === undefined)
    return skipped('not tried, because no answer of the service told its time');
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const text = `${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} that of the service`;
  const remedy = 'set the clock right (NTP): addresses for uploads and downloads end at a time';
  if (Math.abs(aheadMs) > AHEAD_FAILURE_MS) return failed(text, remedy);
  if (Math.abs(aheadMs) > AHEAD_WARNING_MS) return warning(text, remedy);
  return ok(seconds === 0 ? 'as that of the service' : text);
}
