/** Wait reasons of live jobs, from journal and service. */
import type { JobRecord } from '../../core/journal/job.ts';
import type { RemoteBatch } from './context.ts';

/** Members of a job record that reports show. */
export type ReportedJob = Pick<
  JobRecord,
  'id' | 'remoteId' | 'type' | 'attempt' | 'depth' | 'count' | 'createdMs' | 'oldestEventMs'
>;

export const reportedJob = (record: JobRecord): ReportedJob => {
  const { id, remoteId, type, attempt, depth, count, createdMs, oldestEventMs } = record;
  return { id, remoteId, type, attempt, depth, count, createdMs, oldestEventMs };
};

interface JobSituation {
  /** Kind of the pipeline. */
  readonly kind: string;
  readonly service: RemoteBatch | undefined;
  /** A replica is running. */
  readonly running: boolean;
}

/** Completes "waits for". */
export function waitsFor({ kind, service, running }: JobSituation): string {
  const then = running ? '' : ', once a replica runs';
  const isLookup = kind === 'lookup';
  switch (service?.status) {
    case undefined:
      return isLookup
        ? 'decisions that are not made yet, or that the service does not return in a usable form'
        : 'unknown: the service was not called';
    case 'WAITING_FOR_UPLOAD':
      return `its upload to take effect; replaced by a new batch after review.grace at most${then}`;
    case 'PENDING':
      return 'the review';
    case 'IN_PROGRESS':
      return 'the import';
    case 'SUCCESS':
    case 'COMPLETE':
      return `its results to be read and published${then}`;
    case 'ERROR':
    case 'FAILED':
    case 'CANCELLED':
      return `${isLookup ? 'its decision to be published' : 'its next attempt: it has failed'}${then}`;
    case 'unknown_to_service':
      return `the service to know it again; ${ABANDONED[kind] ?? 'replaced by a new batch'} after review.grace${then}`;
    case 'unreadable_answer':
      return `a readable response: ${service?.problem}`;
    default:
      return `the review: this version does not know the state ${service?.status}`;
  }
}

const ABANDONED: Readonly<Record<string, string>> = {
  import: 'submitted again, if service.importPath is right,',
  lookup: 'ends according to review.onFailure',
};
