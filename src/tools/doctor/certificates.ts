/** Certificates that end. */
import { type Finding, failed, together, warning } from './check.ts';
import type { Certificate } from './parts.ts';

const DAY_MS = 24 * 3_600_000;
/** As the connector warns (src/kafka/security/expiry.ts). */
const SOON_MS = 14 * DAY_MS;

export function certificateFindings(certificates: readonly Certificate[], nowMs: number): Finding {
  const findings = certificates.flatMap(({ whose, endsMs }): Finding[] => {
    const leftMs = endsMs - nowMs;
    if (leftMs <= 0) return [failed(`${whose} has expired on ${day(endsMs)}`, 'replace it')];
    return leftMs > SOON_MS
      ? []
      : [warning(`${whose} expires in ${Math.ceil(leftMs / DAY_MS)} days`, 'replace it')];
  });
  const [first] = [...certificates].sort((a, b) => a.endsMs - b.endsMs);
  return together(
    first === undefined
      ? 'none was shown'
      : `the first of ${certificates.length} to expire does so on ${day(first.endsMs)} (${first.whose})`,
    findings,
  );
}

const day = (ms: number): string =>
  Number.isFinite(ms) ? new Date(ms).toISOString().slice(0, 10) : 'a date that cannot be read';
