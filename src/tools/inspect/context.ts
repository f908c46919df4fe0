/** What the tools know of the pipeline that they look at, and through what they look. */
import type { Clock } from '../../base/clock.ts';
import type { ClusterAdmin } from '../../core/ports/kafka.ts';
import type { TopicScan } from '../../core/ports/topic-scan.ts';
import type { SourceRecord } from '../../core/record.ts';

/** State of a batch, an import or a decision at the service. */
export interface RemoteBatch {
  /** As the interface spells it, or as the service does when it is another; `unknown_to_service` for 404 and 410; `unreadable_answer`. */
  readonly status: string;
  /** Problem with an unreadable answer: call, id and cause. */
  readonly problem?: string;
  readonly finished: number | undefined;
  readonly total: number | undefined;
}

export interface PipelineView {
  readonly name: string;
  readonly kind: string;
  readonly group: string;
  readonly topics: {
    readonly source: string;
    readonly journal: string;
    readonly decisions: string;
    readonly deadLetters: string;
  };
  /** Each partition's batches publish in the order in which they were submitted (output.order: source). */
  readonly inOrder: boolean;
  /** What the configuration's pipelines write, this one's and the others'. */
  readonly reservedTopics: readonly string[];
  /** Null values are skipped, not dead-lettered. */
  readonly skipsNullValues: boolean;
  /** Whether `source.filter` does not want a record, as it is configured now; undefined when that cannot be told here. Absent: no filter. */
  readonly isFiltered?: ((record: SourceRecord) => boolean | undefined) | undefined;
  /** How long a transaction of the connector can stay open, ms. */
  readonly transactionTimeoutMs: number;
}

export interface Inspection {
  readonly pipeline: PipelineView;
  readonly scan: TopicScan;
  readonly admin: ClusterAdmin;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Tells a person what takes so long. */
  readonly notice: (text: string) => void;
  /** Asks the service for a batch or an import; undefined when it is not to be asked. Rejects when it cannot be reached. */
  readonly remoteBatch: ((remoteId: string) => Promise<RemoteBatch>) | undefined;
  /** Asks the service for the decision that a record of a lookup names; undefined: the record names none. Rejects as `remoteBatch`. */
  readonly remoteDecision?: (record: SourceRecord) => Promise<RemoteBatch | undefined>;
  /** Reads a value that a schema registry has the schema of, as its JSON form would be read; undefined when it cannot. */
  readonly readFramed?: (value: Buffer) => Promise<object | undefined>;
}

/** Why a tool cannot answer; becomes an exit code. */
export type InspectFailure =
  /** What was asked for makes no sense here: no such partition, an offset beyond the end. */
  | 'usage'
  /** A topic is missing, or is not what it should be. */
  | 'refused'
  /** Kafka cannot be reached, or does not answer in time. */
  | 'unreachable';

export class InspectError extends Error {
  override readonly name = 'InspectError';
  readonly failure: InspectFailure;
  constructor(failure: InspectFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** Tools read a few partitions at a time: a connection carries one fetch after the other. */
export const PARTITIONS_AT_A_TIME = 4;

/** Runs `work` on every item, at most `width` at a time. Rejects with the first failure, after what runs has ended. */
export async function eachAtATime<T>(
  items: Iterable<T>,
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  let failure: { readonly error: unknown } | undefined;
  const worker = async () => {
    for (
      let item = queue.shift();
      item !== undefined && failure === undefined;
      item = queue.shift()
    ) {
      try {
        await work(item);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, queue.length) }, worker));
  if (failure !== undefined) throw failure.error;
}
