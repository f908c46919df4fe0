/** Types and functions for the doctor's checks and their results. */

import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import type { ClusterInspector } from '../../kafka/admin/admin.ts';
import type { PipelineOptions } from '../../pipeline/context/options.ts';
import type { Inspection } from '../inspect/context.ts';

/** Name of the check on which all checks with `needsKafka` depend. */
export const KAFKA_CONNECT = 'kafka.connect';

export type CheckStatus = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Diagnosis {
  readonly status: CheckStatus;
  /** Finding of the check, without content, keys or presigned addresses (I6). */
  readonly found: string;
  /** Absent if `found` contains the remedy, or if nothing is wrong. */
  readonly remedy?: string | undefined;
}

export interface DoctorCheck {
  /** Name for scripts, such as `kafka.brokers` or `topic.source`. */
  readonly name: string;
  /** Absent if the check covers the whole configuration. */
  readonly pipeline?: string | undefined;
  /** Subject of the check, such as `topic content-events`. */
  readonly about: string;
  /** True if the check requires Kafka. It is skipped if `kafka.connect` has failed. */
  readonly needsKafka?: true;
  /** A rejection counts as a failed check. */
  run(signal: AbortSignal): Promise<Diagnosis>;
}

export const ok = (found: string): Diagnosis => ({ status: 'ok', found });
export const warning = (found: string, remedy?: string): Diagnosis => ({
  status: 'warning',
  found,
  remedy,
});
export const failed = (found: string, remedy?: string): Diagnosis => ({
  status: 'failed',
  found,
  remedy,
});

/**
 * Combines findings about one subject. The worst status applies.
 * @param well text to use if there is no problem
 * @param problems findings; false and undefined stand for problems that do not exist
 */
export function together(
  well: string,
  problems: readonly (Diagnosis | false | undefined)[],
): Diagnosis {
  const found = problems.filter((one) => one !== false && one !== undefined);
  if (found.length === 0) return ok(well);
  const remedies = new Set(found.flatMap(({ remedy }) => remedy ?? []));
  return {
    status: found.some(({ status }) => status === 'failed') ? 'failed' : 'warning',
    found: found.map((one) => one.found).join('; '),
    remedy: remedies.size === 0 ? undefined : [...remedies].join('; '),
  };
}

/** Returns a number with its noun, such as `1 partition` or `2 partitions`. */
export const counted = (count: number, one: string): string =>
  `${count} ${one}${count === 1 ? '' : 's'}`;

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

export interface DoctorParts {
  readonly clock: Clock;
  readonly kafka: KafkaParts;
  readonly services: readonly ServiceParts[];
  readonly pipelines: readonly PipelineParts[];
}

export interface KafkaParts {
  readonly inspector: ClusterInspector;
  /** Addresses in the option kafka.brokers. */
  readonly addresses: readonly string[];
  /** Login, such as `TLS, scram-sha-512, as User:connector`. Complete only once a connection has been made. */
  readonly login: () => string;
}

export interface ServiceParts {
  readonly name: string;
  /** Path of the service's options. */
  readonly path: string;
  /** Address of the service, without credentials and query. */
  readonly address: string;
  /**
   * Requests an object with a random id from the API of a pipeline kind, as the connector does
   * at its start. Resolves if the service unexpectedly returns one. @throws ServiceError
   */
  readonly ask: (kind: string, signal: AbortSignal) => Promise<void>;
}

export interface PipelineParts {
  readonly name: string;
  readonly engine: PipelineOptions;
  readonly inspection: Inspection;
  /** Checks of the schemas of source and output in a registry. */
  readonly registryChecks: readonly DoctorCheck[];
}

/** Result of a check. */
export interface CheckReport extends Diagnosis {
  readonly check: DoctorCheck;
}

/** Maximum time of a check. Long enough for a journal of some megabytes on slow disks. */
const LIMIT_MS = 60_000;

/**
 * Runs checks in order, each within the time limit.
 * @param report called with each result as soon as the check has ended
 * @returns all results, in the order of the checks. Rejects only with the signal's reason
 */
export async function runChecks(
  checks: readonly DoctorCheck[],
  clock: Clock,
  signal: AbortSignal,
  report: (result: CheckReport) => void,
): Promise<CheckReport[]> {
  const reports: CheckReport[] = [];
  let skipped: Diagnosis | undefined;
  for (const check of checks) {
    const diagnosis = (check.needsKafka && skipped) ?? (await tried(check, clock, signal));
    if (check.name === KAFKA_CONNECT && diagnosis.status === 'failed')
      skipped = { status: 'skipped', found: `not tried, because ${titleOf(check)} failed` };
    const result = { check, ...diagnosis };
    reports.push(result);
    report(result);
  }
  return reports;
}

/** Returns the subject of a check for output, with its pipeline. */
export const titleOf = ({ pipeline, about }: DoctorCheck): string =>
  pipeline === undefined ? about : `${pipeline}: ${about}`;

async function tried(check: DoctorCheck, clock: Clock, signal: AbortSignal): Promise<Diagnosis> {
  const limit = new AbortController();
  const cancel = clock.after(LIMIT_MS, () => limit.abort());
  const either = AbortSignal.any([limit.signal, signal]);
  try {
    signal.throwIfAborted();
    return await abortable(check.run(either), either);
  } catch (error) {
    signal.throwIfAborted();
    if (!limit.signal.aborted) return failed(messageOf(error));
    return failed(
      `no response within ${LIMIT_MS / 1_000} s`,
      'check the network and the load on both sides',
    );
  } finally {
    cancel();
  }
}
