/** A look inside imports, for checkers. */
import type { Import } from './import-store.ts';

export interface ImportSummary {
  readonly import_id: string;
  readonly import_status: string;
  /** Records of the upload; 0 before they are read, and when the file is not valid. */
  readonly records: number;
  /** ISO 8601. */
  readonly created: string;
  readonly uploaded: string | null;
  /** When it was COMPLETE or FAILED; ISO 8601, null before. */
  readonly finished: string | null;
  /** The scripted fault that hit it. */
  readonly fault: string | null;
  /** Why it went to FAILED. */
  readonly problem: string | null;
}

export function importSummaryOf(one: Import): ImportSummary {
  return {
    import_id: one.id,
    import_status: one.status,
    records: one.records,
    created: new Date(one.createdMs).toISOString(),
    uploaded: one.uploadedMs === null ? null : new Date(one.uploadedMs).toISOString(),
    finished: one.finishedMs === null ? null : new Date(one.finishedMs).toISOString(),
    fault: one.fault?.action ?? null,
    problem: one.problem,
  };
}
