/** Subjects and connections of the doctor. `src/app/tools/doctor.ts` opens them. */
import type { Clock } from '../../base/clock.ts';
import type { ClusterInspector } from '../../core/ports/cluster-inspector.ts';
import type { PipelineKind } from '../../core/ports/pipeline-kind.ts';
import type { PipelineOptions } from '../../pipeline/context/options.ts';
import type { Inspection } from '../inspect/context.ts';
import type { DoctorCheck } from './check.ts';

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

export interface ServiceParts {
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
