/**
 * Delays a request of a transaction in the network until its shard has a new owner. The sender is dead or frozen at
 * that time. Kafka must reject the request; otherwise records would be lost or duplicated.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ShardName } from '../../../../support/stack/stack-control.ts';
import type { World } from '../../world.ts';
import { API, type ApiName } from '../kafka-frames.ts';
import type { Nemesis } from '../nemesis.ts';
import { type HeldRequest, isRequest } from '../proxy.ts';
import { lineCounts, takenOver } from './replicas.ts';

const HELD_MS = 30_000;

/** @param api the request to hold back */
export const lateCommit =
  (api: ApiName): Nemesis =>
  async (world, random) => {
    const { fleet } = world;
    await world.atLeast(2);
    await fleet.someBusy(random, 2);
    const held = await holdNext(world, API[api]);
    if (held === undefined) return { hit: false, note: 'no such request was sent' };
    const shard = shardOf(world, held.head.transactionalId ?? '');
    const victim = fleet.byClient(held.head.clientId);
    if (victim === undefined || shard === undefined) {
      await held.release();
      return { hit: false, note: `held a request of ${held.head.clientId}` };
    }
    const from = lineCounts(fleet.running);
    const dies = random.below(2) === 0;
    let answer: number | undefined;
    if (dies) await fleet.kill(victim);
    else fleet.freeze(victim);
    try {
      await takenOver(world, victim, from, new Set([shard]));
      await world.sleep(random.below(400));
    } finally {
      answer = await held.release();
      if (dies) await fleet.joined(await fleet.start());
      else fleet.thaw(victim);
    }
    if (api === 'EndTxn' && answer === 0)
      throw new Error(`Kafka accepted a commit of shard ${shard} after the shard had a new owner`);
    const said =
      api !== 'EndTxn'
        ? ''
        : answer === undefined
          ? ', no response'
          : `, refused with error ${answer}`;
    return { hit: true, note: `${api} of a ${dies ? 'dead' : 'frozen'} owner${said}` };
  };

/** Returns the shard of a transactional id, which consists of the journal's name and the shard's number. */
function shardOf({ stack }: World, transactionalId: string): ShardName | undefined {
  for (const { name, topics } of stack.pipelines) {
    const number = transactionalId.startsWith(`${topics.journal}-`)
      ? Number(transactionalId.slice(topics.journal.length + 1))
      : NaN;
    if (Number.isSafeInteger(number)) return `${name}/${number}`;
  }
  return undefined;
}

async function holdNext(
  { brokers, signal }: World,
  apiKey: number,
): Promise<HeldRequest | undefined> {
  const first = Promise.withResolvers<HeldRequest | undefined>();
  let taken = false;
  for (const proxy of brokers) {
    proxy.holdNext({
      wanted: (head) => !taken && isRequest(head, apiKey),
      taken: (held) => {
        taken = true;
        first.resolve(held);
      },
    });
  }
  const over = new AbortController();
  void sleep(HELD_MS, undefined, { signal: AbortSignal.any([over.signal, signal]) }).then(
    () => first.resolve(undefined),
    () => first.resolve(undefined),
  );
  const held = await first.promise;
  over.abort();
  for (const proxy of brokers) proxy.holdNext(undefined);
  return held;
}
