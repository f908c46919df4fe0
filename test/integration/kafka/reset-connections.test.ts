/** Transactions over connections that break at any moment: the records of each are there once. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { after, it } from 'node:test';
import { EncodedRecords } from '../../../src/core/bytes/encoded-records.ts';
import { type ShardProducer, TransactionError } from '../../../src/core/ports/kafka.ts';
import { type RealWorld, realWorld } from '../../conformance/kafka-real.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';

const TRANSACTIONS = 60;
const PARTITIONS = 20;
/** Some records of a transaction for nearly every partition. */
const RECORDS = 60;
/** Mean time between two resets: about that of a transaction. */
const RESET_MS = 30;

const kafka = await testKafka();

/** Resets one of the process's connections now and then. @returns what ends it, with the number of resets */
function resetConnections(): () => number {
  const sockets = new Set<Socket>();
  let resets = 0;
  const opened = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket };
    sockets.add(socket.once('close', () => sockets.delete(socket)));
  };
  subscribe('net.client.socket', opened);
  const reset = () => {
    const socket = [...sockets][Math.floor(Math.random() * sockets.size)];
    if (socket !== undefined) resets++;
    socket?.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    timer = setTimeout(reset, 2 * RESET_MS * Math.random());
  };
  let timer = setTimeout(reset, RESET_MS);
  return () => {
    clearTimeout(timer);
    unsubscribe('net.client.socket', opened);
    return resets;
  };
}

/** Commits a claim with a new producer. @returns the producer, and the next transaction that the journal lacks */
async function claim(world: RealWorld): Promise<readonly [ShardProducer, number]> {
  const { journal } = world.topics;
  for (;;) {
    const producer = world.producers().open(0);
    try {
      const { journalOffset } = await producer.commit({ journal: [{ key: 'owner', value: '' }] });
      const reached = async () => {
        const records = await world.readAll(journal);
        return records.some(({ offset }) => offset >= journalOffset) ? records : undefined;
      };
      const records = await eventually('the claim can be read', reached);
      const done = records.filter(({ key }) => String(key) === 'transaction');
      return [producer, done.length === 0 ? 0 : Number(done.at(-1)?.value) + 1];
    } catch (error) {
      await producer.close();
      if (!(error instanceof TransactionError)) throw error;
    }
  }
}

it('transactions over connections that are reset are each committed once', async () => {
  const world = await realWorld(kafka, {
    sourcePartitions: 1,
    shards: 1,
    outputPartitions: PARTITIONS,
  });
  after(() => world.close());
  const { output } = world.topics;
  const stop = resetConnections();
  let [producer, next] = await claim(world);
  while (next < TRANSACTIONS) {
    const values = Array.from({ length: RECORDS }, (_, n) => `${next}/${n}`);
    const records = EncodedRecords.of(values.map((value, n) => ({ key: `${n}`, value })));
    try {
      await producer.commit({
        journal: [{ key: 'transaction', value: `${next}` }],
        outputs: [{ topic: output, records }],
        offsets: [{ partition: 0, offset: next, metadata: '' }],
      });
      next++;
    } catch (error) {
      await producer.close();
      if (!(error instanceof TransactionError)) throw error;
      [producer, next] = await claim(world);
    }
  }
  assert.ok(stop() > 0);
  await producer.close();

  const values = (await world.readAll(output)).map(({ value }) => String(value));
  assert.equal(values.length, TRANSACTIONS * RECORDS);
  assert.equal(new Set(values).size, values.length);
  assert.equal(world.pool.lentBytes, 0);
});
