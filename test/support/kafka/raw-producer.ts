/** Producer of prebuilt record batches, which it sends byte for byte. kafkajs cannot build such batches. */
import { ClusterConnection, leadersOf } from '../../../src/kafka/cluster-connection.ts';
import type { ProduceFields } from '../../../src/kafka/kafkajs/shapes.ts';
import { RecordingLogger } from '../memory/telemetry/recording-telemetry.ts';

const TIMEOUT_MS = 10_000;
const NO_PRODUCER = { producerId: '-1', producerEpoch: -1 };

/**
 * Errors that a retry does not resolve: UNKNOWN_SERVER_ERROR, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP,
 * UNSUPPORTED_COMPRESSION_TYPE, INVALID_RECORD.
 */
const FINAL: ReadonlySet<number> = new Set([-1, 2, 10, 32, 76, 87]);

/** Broker's error for a batch that it did not append. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused';
  readonly #code: number;

  /** True if the broker would refuse the same batch again: it is corrupt, too large or invalid, or makes the broker fail. */
  get isFinal(): boolean {
    return FINAL.has(this.#code);
  }

  /** @param code Kafka's error number, such as 2 for CORRUPT_MESSAGE */
  constructor(code: number, where: string) {
    super(`the broker refused a batch for ${where} with error ${code}`);
    this.#code = code;
  }
}

export class RawProducer {
  readonly #connection: ClusterConnection;

  constructor(brokers: readonly string[]) {
    const timeouts = { connectionTimeoutMs: TIMEOUT_MS, requestTimeoutMs: TIMEOUT_MS };
    const options = { brokers, clientId: 'raw-producer', ...timeouts };
    this.#connection = new ClusterConnection(options, new RecordingLogger(), 0);
  }

  /**
   * Appends the batch with acks from all replicas.
   * @returns the offset of its first record
   * @throws BatchRefused with the broker's error; Error if no broker responds in time (the batch may have been
   * appended)
   */
  async write(topic: string, partition: number, bytes: Buffer): Promise<number> {
    const batch = { request: (fields: ProduceFields) => requestOf(fields, partition, bytes) };
    const where = `${topic}-${partition}`;
    const offset = await this.#connection
      .request(`write to ${where}`, {}, async (cluster) => {
        const [found] = await leadersOf(cluster, topic, [partition]);
        const answer = await found?.[0].produce({
          acks: -1,
          transactionalId: undefined,
          ...NO_PRODUCER,
          topicData: { topic, batch },
        });
        return answer?.topics[0]?.partitions[0]?.baseOffset;
      })
      .catch((error: Error) => {
        const { code } = (error.cause ?? {}) as { readonly code?: unknown };
        throw typeof code === 'number' ? new BatchRefused(code, where) : error;
      });
    return Number(offset);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}

function requestOf(fields: ProduceFields, partition: number, batch: Buffer): Buffer {
  const body = Buffer.concat([
    int16(0),
    int16(fields.apiVersion),
    int32(fields.correlationId),
    text(fields.clientId),
    int16(-1),
    int16(fields.acks),
    int32(fields.timeoutMs),
    int32(1),
    text(fields.topic),
    int32(1),
    int32(partition),
    int32(batch.length),
    batch,
  ]);
  return Buffer.concat([int32(body.length), body]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([int16(bytes.length), bytes]);
}
