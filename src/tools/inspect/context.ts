/** Pipeline that the tools inspect, and the connections that they use. */
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import type { ClusterAdmin, TopicScan } from '../../core/ports/kafka.ts';
import type { SourceRecord } from '../../core/record.ts';

export interface InspectedPipeline {
  readonly name: string;
  readonly kind: string;
  readonly group: string;
  readonly topics: {
    readonly source: string;
    readonly journal: string;
    readonly decisions: string;
    readonly deadLetters: string;
  };
  /** Topics to which the pipelines of the configuration write. */
  readonly reservedTopics: readonly string[];
  /**
   * Returns true if the current configuration skips a record, and undefined if source.filter cannot
   * be evaluated without a schema registry.
   */
  readonly isSkipped: (record: SourceRecord) => boolean | undefined;
  /** Longest time that a transaction of the connector stays open. */
  readonly transactionTimeoutMs: number;
}

export interface Inspection {
  readonly pipeline: InspectedPipeline;
  readonly scan: TopicScan;
  readonly admin: ClusterAdmin;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Reports progress of a long operation. */
  readonly notice: (text: string) => void;
  /**
   * Reads a value that begins with a schema id. Returns its JSON form, or undefined if it cannot be
   * read. Absent if no schema registry is configured.
   */
  readonly readFramed?: ((value: Buffer) => Promise<unknown>) | undefined;
}

/** Cause of a failed inspection. It determines the exit code. */
type InspectFailure =
  /** The arguments are wrong: no such partition, or an offset beyond the end. */
  | 'usage'
  /** A topic is missing, or has unusable content or settings. */
  | 'refused'
  /** Kafka is unreachable, or does not respond in time. */
  | 'unreachable';

export class InspectError extends Error {
  override readonly name = 'InspectError';
  readonly failure: InspectFailure;
  constructor(failure: InspectFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

export async function isCompacted({ admin }: Inspection, topic: string): Promise<boolean> {
  const found = await admin.describeTopic(topic);
  return found?.settings.get('cleanup.policy')?.includes('compact') ?? false;
}

/** Maximum number of concurrent reads. Few, because each read opens its own connection. */
const AT_A_TIME = 4;

/** Runs `work` on a few items at a time. On a failure, waits for the running ones and rejects with the first error. */
export async function eachAtATime<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    try {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    } finally {
      queue.length = 0;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: AT_A_TIME }, worker));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}
