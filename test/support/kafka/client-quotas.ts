/** Client quotas of a cluster (AlterClientQuotas, KIP-546), which kafkajs cannot set. */
import { once } from 'node:events';
import { connect } from 'node:net';

const ALTER_CLIENT_QUOTAS = 49;
/** Offset of the first entry's error code: after size, correlation id, throttle time and number of entries. */
const ERROR_AT = 16;

/** Quotas by Kafka's names, in bytes per second or percent of a thread. undefined removes one. */
export type Quotas = Partial<
  Record<'producer_byte_rate' | 'consumer_byte_rate' | 'request_percentage', number | undefined>
>;

/** Sets quotas of each client id. @param broker `host:port` @throws Error if the broker rejects them */
export async function alterClientQuotas(
  broker: string,
  clientIds: readonly string[],
  quotas: Quotas,
): Promise<void> {
  const operations = Object.entries(quotas).map(([name, value]) => {
    const rate = Buffer.alloc(9);
    rate.writeDoubleBE(value ?? 0);
    rate.writeUInt8(value === undefined ? 1 : 0, 8);
    return Buffer.concat([string(name), rate]);
  });
  const entries = clientIds.map((id) =>
    Buffer.concat([array([Buffer.concat([string('client-id'), string(id)])]), array(operations)]),
  );
  const head = Buffer.from([0, ALTER_CLIENT_QUOTAS, 0, 0, 0, 0, 0, 1]);
  const request = Buffer.concat([head, string('test-quotas'), array(entries), Buffer.from([0])]);
  const [host, port] = broker.split(':');
  const socket = connect(Number(port), host);
  try {
    socket.write(Buffer.concat([int32(request.length), request]));
    let response = Buffer.alloc(0);
    while (response.length < ERROR_AT + 2)
      response = Buffer.concat([response, ...((await once(socket, 'data')) as Buffer[])]);
    const error = response.readInt16BE(ERROR_AT);
    if (error !== 0) throw new Error(`the broker rejected the quotas: error ${error}`);
  } finally {
    socket.destroy();
  }
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const array = (items: readonly Buffer[]): Buffer => Buffer.concat([int32(items.length), ...items]);

function string(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([int32(bytes.length).subarray(2), bytes]);
}
