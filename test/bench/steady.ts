/** An endless topic at constant input: whether intake and settling keep pace with each other, or one of them only goes first. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestKafka } from '../support/kafka/kafka.ts';
import { RawProducer } from '../support/kafka/raw-producer.ts';
import { cpuSecondsOf, residentMiBOf } from '../support/process-time.ts';
import { type Load, write } from './load.ts';
import { type ConnectorSetup, progressOf, withConnector } from './rounds.ts';

const TICK_MS = 100;
const WARM_MS = 10_000;

export interface Steady {
  readonly cpuUs: number;
  /** Records taken or written that have no decision: on average in the first and in the last third of the run. */
  readonly unsettledFirst: number;
  readonly unsettledLast: number;
  /** Resident memory, MiB, likewise. */
  readonly residentFirst: number;
  readonly residentLast: number;
}

/** Writes so many records a second for so long, after a time to warm up. */
export async function steadyRun(
  kafka: TestKafka,
  directory: string,
  setup: Omit<ConnectorSetup, 'topic' | 'records'>,
  load: Load,
  perSecond: number,
  seconds: number,
): Promise<Steady> {
  const topic = await kafka.createTopic('steady', { partitions: load.partitions });
  return await withConnector(
    kafka,
    directory,
    { ...setup, topic, records: 0 },
    async (_stack, replica) => {
      await replica.logged('owns the shard');
      const { pid } = replica.process;
      const producer = new RawProducer(kafka.brokers);
      const began = Date.now();
      const unsettled: number[] = [];
      const resident: number[] = [];
      let written = 0;
      let cpuBefore = 0;
      let decidedBefore = 0;
      let looked = began;
      for (let now = began; now - began < WARM_MS + seconds * 1000; now = Date.now()) {
        const due = Math.floor(((now - began) * perSecond) / 1000);
        await write(producer, topic, load, written, due);
        written = due;
        if (now - looked >= 1000) {
          looked += 1000;
          const { decided } = await progressOf(replica);
          if (now - began < WARM_MS) [cpuBefore, decidedBefore] = [cpuSecondsOf(pid), decided];
          else {
            unsettled.push(written - decided);
            resident.push(residentMiBOf(pid, 'VmRSS'));
          }
        }
        await sleep(Math.max(0, TICK_MS - (Date.now() - now)));
      }
      await producer.close();
      const { decided } = await progressOf(replica);
      const third = Math.floor(unsettled.length / 3);
      const mean = (some: readonly number[]) =>
        some.reduce((sum, one) => sum + one, 0) / some.length;
      return {
        cpuUs: ((cpuSecondsOf(pid) - cpuBefore) * 1e6) / (decided - decidedBefore),
        unsettledFirst: mean(unsettled.slice(0, third)),
        unsettledLast: mean(unsettled.slice(-third)),
        residentFirst: mean(resident.slice(0, third)),
        residentLast: mean(resident.slice(-third)),
      };
    },
  );
}
