/** What the doctor looks through, and what it knows of the configuration. `src/app/tools/doctor.ts` makes it. */
import type { Clock } from '../../base/clock.ts';
import type { ClusterProbe } from '../../core/ports/cluster-probe.ts';
import type { ClusterAdmin } from '../../core/ports/kafka.ts';
import type { PipelineKind } from '../../core/ports/pipeline-kind.ts';
import type { TopicScan } from '../../core/ports/topic-scan.ts';
import type { PipelineOptions } from '../../pipeline/context/options.ts';
import type { Inspection } from '../inspect/context.ts';
import type { Finding } from './check.ts';

export interface DoctorParts {
  readonly clock: Clock;
  readonly kafka: KafkaParts;
  readonly service: ServiceParts;
  /** Absent when none is configured. */
  readonly registry: RegistryParts | undefined;
  readonly pipelines: readonly PipelineParts[];
  readonly memory: MemoryFacts;
  /** undefined: none was asked for. */
  readonly roundTrip: { readonly limitMs: number; readonly type: string | undefined } | undefined;
}

export interface Certificate {
  /** `this client's certificate (kafka.tls.certificate)`. */
  readonly whose: string;
  /** Milliseconds since the epoch. */
  readonly endsMs: number;
}

export interface KafkaParts {
  readonly probe: ClusterProbe;
  readonly admin: ClusterAdmin;
  readonly scan: TopicScan;
  /** Those of the configuration. */
  readonly addresses: readonly string[];
  /** How: `TLS, scram-sha-512 as User:connector`. */
  readonly login: () => string;
  /** As brokers know this client: `User:connector`. */
  readonly principal: () => string;
  /** Seen so far; undefined without TLS. */
  readonly certificates: (() => readonly Certificate[]) | undefined;
}

export type ServiceQuestion = 'batch' | 'import' | 'decision';

export interface ServiceParts {
  /** Without credentials and query. */
  readonly address: string;
  /** Host and port of the proxy that requests go through. */
  readonly proxy: string | undefined;
  /** Addresses of the service's host, or of the proxy's. */
  readonly lookUp: () => Promise<readonly string[]>;
  /** Of the service, and of the files of the configuration. undefined when it is not reached by TLS, or through a proxy. */
  readonly certificates: (() => Promise<readonly Certificate[]>) | undefined;
  /** Asks for something that cannot exist. @returns that the service knows it nevertheless. @throws ServiceError */
  readonly ask: (question: ServiceQuestion, signal: AbortSignal) => Promise<void>;
  /** The service's clock less this machine's, ms, as its last answer told; undefined when none did. */
  readonly clockAheadMs: () => number | undefined;
}

export interface RegistryParts {
  /** Their hosts. */
  readonly addresses: readonly string[];
  /** Asks it for something harmless. @throws Error that says why it does not answer, and what to do */
  readonly ask: (signal: AbortSignal) => Promise<void>;
}

export interface PipelineParts {
  readonly name: string;
  readonly engine: PipelineOptions;
  readonly inspection: Inspection;
  readonly sessionTimeoutMs: number;
  readonly transactionTimeoutMs: number;
  readonly maxContentBytes: number;
  readonly includesContent: boolean;
  /** Types that are let through; empty: every one. */
  readonly types: readonly string[];
  /** With a service that is never asked: it decodes. */
  readonly decoder: PipelineKind;
  /** With the real service: it creates, uploads, fetches. undefined: the kind has nothing to create. */
  readonly remote: PipelineKind | undefined;
  /** How the schema of its output stands; undefined when it has none. */
  readonly outputSchema: ((signal: AbortSignal) => Promise<Finding>) | undefined;
  /** Whether the newest schema of its source can be read; undefined when its values have none. */
  readonly sourceSchema: ((signal: AbortSignal) => Promise<Finding>) | undefined;
}

export interface MemoryFacts {
  readonly budgetBytes: number;
  /** Of the container that this runs in; undefined: none, or no limit. */
  readonly containerBytes: number | undefined;
  /** The variable MALLOC_ARENA_MAX. */
  readonly arenas: string | undefined;
  /** Of node's --max-semi-space-size, MiB; undefined: node's own. */
  readonly semiSpaceMiB: number | undefined;
}
