import type { Clock } from '../../../packages/client/src/base/clock.ts';
import type { PipelineKind } from '../../core/ports/pipeline-kind.ts';
import type { ClusterInspector } from '../../kafka/admin/cluster-inspector.ts';
import type { PipelineOptions } from '../../pipeline/context/options.ts';
import type { Inspection } from '../inspect/context.ts';
/** A check of the doctor, and what it found. */

export type CheckStatus = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Diagnosis {
  readonly status: CheckStatus;
  /** Holds no content, key or presigned address (I6). */
  readonly found: string;
  /** Absent when `found` contains it, or nothing is wrong. */
  readonly remedy?: string | undefined;
}

export interface DoctorCheck {
  /** Name for scripts: `kafka.brokers`, `topic.source`. */
  readonly name: string;
  /** Absent: the check covers the whole configuration. */
  readonly pipeline?: string | undefined;
  /** Subject: `topic content-events`. */
  readonly about: string;
  /**
   * Names of earlier checks, of the same pipeline or of the whole configuration. The check is
   * skipped unless all of them ended as `ok` or `warning`.
   */
  readonly needs?: readonly string[];
  /** Time limit; the default is 15 s. */
  readonly limitMs?: number;
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
/** @param cause continues "not tried, because" */
export const notTried = (cause: string): Diagnosis => ({
  status: 'skipped',
  found: `not tried, because ${cause}`,
});

/**
 * Combines what was found about one subject: the worst status decides.
 * @param well text for the case that no problem was found
 * @param problems false and undefined stand for a condition that does not hold
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

/** `1 partition`, `2 partitions`. */
export const counted = (count: number, one: string): string =>
  `${count} ${one}${count === 1 ? '' : 's'}`;

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

export interface DoctorParts {
  readonly clock: Clock;
  readonly kafka: KafkaParts;
  readonly service: ServiceParts;
  /** Certificates of files and peers, as far as they are known by now. */
  readonly certificates: () => Promise<readonly CertificateEnd[]>;
  readonly pipelines: readonly PipelineParts[];
  readonly memory: { readonly budgetBytes: number; readonly containerBytes: number | undefined };
  /** undefined: no round trip. */
  readonly roundTrip: { readonly limitMs: number; readonly type: string | undefined } | undefined;
}

export interface CertificateEnd {
  /** `this client's certificate (kafka.tls.certificate)`. */
  readonly whose: string;
  /** Milliseconds since the epoch. */
  readonly endsMs: number;
}

export interface KafkaParts {
  readonly inspector: ClusterInspector;
  /** kafka.brokers. */
  readonly addresses: readonly string[];
  /** `TLS, scram-sha-512, as User:connector`; complete once a connection was made. */
  readonly login: () => string;
}

interface ServiceParts {
  /** Without credentials and query; names the proxy, if there is one. */
  readonly address: string;
  /**
   * Requests an item of a random id from the API of a pipeline kind. Resolves if the service
   * returns one nevertheless. @throws ServiceError
   */
  readonly ask: (kind: string, signal: AbortSignal) => Promise<void>;
  /** Difference between the clock of the service and this one, ms; undefined: not known yet. */
  readonly clockAheadMs: () => number | undefined;
}

export interface PipelineParts {
  readonly name: string;
  readonly engine: PipelineOptions;
  readonly inspection: Inspection;
  readonly maxContentBytes: number;
  readonly includesContent: boolean;
  /** source.types; empty: every type is accepted. */
  readonly types: readonly string[];
  /** Decodes, and never calls the service. */
  readonly decoder: PipelineKind;
  /** Calls the service. undefined: the kind creates nothing there. */
  readonly remote: PipelineKind | undefined;
  /** Checks of the schemas of source and output that a registry has. */
  readonly registryChecks: readonly DoctorCheck[];
}
