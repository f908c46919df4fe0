/**
 * Two requests that kafkajs has only in older versions: those that also tell what this client may do (KIP-430, Kafka 2.3). The
 * formats are those of Kafka's message definitions, MetadataRequest 8 and DescribeGroupsRequest 3.
 */
import type {
  GroupDescription,
  KafkaOperation,
  PartitionReplicas,
  TopicReplicas,
} from '../../core/ports/cluster-probe.ts';

export const METADATA = { apiKey: 3, apiVersion: 8, apiName: 'Metadata' } as const;
export const DESCRIBE_GROUPS = { apiKey: 15, apiVersion: 3, apiName: 'DescribeGroups' } as const;

/** As kafkajs sends it: an encoder is anything with a buffer. */
export interface ProtocolRequest<T> {
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly apiName: string;
    encode(): Promise<{ readonly buf: Buffer; readonly buffer: Buffer }>;
  };
  readonly response: { decode(data: Buffer): Promise<T>; parse(data: T): Promise<T> };
}

/** AclOperation by its code. */
const OPERATIONS: ReadonlyMap<number, KafkaOperation> = new Map([
  [3, 'READ'],
  [4, 'WRITE'],
  [5, 'CREATE'],
  [6, 'DELETE'],
  [7, 'ALTER'],
  [8, 'DESCRIBE'],
  [9, 'CLUSTER_ACTION'],
  [10, 'DESCRIBE_CONFIGS'],
  [11, 'ALTER_CONFIGS'],
  [12, 'IDEMPOTENT_WRITE'],
]);
const NOT_TOLD = -(2 ** 31);

export interface TopicAnswer extends TopicReplicas {
  readonly errorCode: number;
}
export interface GroupAnswer extends Omit<GroupDescription, 'isOurs'> {
  readonly errorCode: number;
}

export function describeTopic(topic: string): ProtocolRequest<TopicAnswer> {
  // One topic; none is created; not the cluster's operations, but the topic's.
  const request = Buffer.concat([int32(1), text(topic), Buffer.from([0, 0, 1])]);
  return protocolRequest(METADATA, request, topicAnswer);
}

export function describeGroup(id: string): ProtocolRequest<GroupAnswer> {
  return protocolRequest(
    DESCRIBE_GROUPS,
    Buffer.concat([int32(1), text(id), Buffer.from([1])]),
    groupAnswer,
  );
}

/** @throws RangeError when it ends early */
export function topicAnswer(data: Buffer): TopicAnswer {
  const reader = new Reader(data);
  reader.int32(); // throttle time
  reader.array(() => {
    reader.int32();
    reader.text();
    reader.int32();
    reader.text();
  }); // brokers
  reader.text(); // cluster id
  reader.int32(); // controller
  const [topic] = reader.array(() => {
    const errorCode = reader.int16();
    reader.text();
    reader.int8(); // internal
    const partitions = reader.array((): PartitionReplicas => {
      reader.int16(); // error: a leader that is missing shows in the leader
      const partition = reader.int32();
      const leader = reader.int32();
      reader.int32(); // epoch
      const replicas = reader.array(() => reader.int32()).length;
      const inSync = reader.array(() => reader.int32()).length;
      reader.array(() => reader.int32()); // offline
      return { partition, leader, replicas, inSync };
    });
    return {
      errorCode,
      partitions: partitions.sort((a, b) => a.partition - b.partition),
      allowed: operations(reader.int32()),
    };
  });
  if (topic === undefined) throw new RangeError('the answer has no topic');
  return topic;
}

/** @throws RangeError when it ends early */
export function groupAnswer(data: Buffer): GroupAnswer {
  const reader = new Reader(data);
  reader.int32(); // throttle time
  const [group] = reader.array(() => {
    const errorCode = reader.int16();
    reader.text(); // id
    const [state, protocolType, protocol] = [reader.text(), reader.text(), reader.text()];
    const members = reader.array(() => {
      reader.text(); // member id
      const [clientId, host] = [reader.text(), reader.text()];
      reader.bytes();
      reader.bytes();
      return { clientId, host };
    });
    return {
      errorCode,
      state,
      protocolType,
      protocol,
      members,
      allowed: operations(reader.int32()),
    };
  });
  if (group === undefined) throw new RangeError('the answer has no group');
  return group;
}

function operations(bits: number): ReadonlySet<KafkaOperation> | undefined {
  if (bits === NOT_TOLD) return undefined;
  return new Set([...OPERATIONS].flatMap(([code, name]) => ((bits >> code) & 1 ? [name] : [])));
}

function protocolRequest<T>(
  api: { readonly apiKey: number; readonly apiVersion: number; readonly apiName: string },
  body: Buffer,
  decode: (data: Buffer) => T,
): ProtocolRequest<T> {
  return {
    request: { ...api, encode: async () => ({ buf: body, buffer: body }) },
    response: { decode: async (data) => decode(data), parse: async (data) => data },
  };
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

class Reader {
  readonly #data: Buffer;
  #at = 0;

  constructor(data: Buffer) {
    this.#data = data;
  }

  int8(): number {
    return this.#data.readInt8(this.#pass(1));
  }

  int16(): number {
    return this.#data.readInt16BE(this.#pass(2));
  }

  int32(): number {
    return this.#data.readInt32BE(this.#pass(4));
  }

  /** Null is empty. */
  text(): string {
    const length = Math.max(0, this.int16());
    const from = this.#pass(length);
    return this.#data.toString('utf8', from, from + length);
  }

  bytes(): void {
    this.#pass(Math.max(0, this.int32()));
  }

  array<T>(one: () => T): T[] {
    const all: T[] = [];
    for (let left = this.int32(); left > 0; left--) all.push(one());
    return all;
  }

  #pass(bytes: number): number {
    const from = this.#at;
    if (from + bytes > this.#data.length) throw new RangeError('the answer ends early');
    this.#at += bytes;
    return from;
  }
}
