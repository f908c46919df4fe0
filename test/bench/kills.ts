/** A SIGKILL in the middle of a load, and a restart at once: how long the records wait for the successor, with default options. */
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../dev/kafka/ports.ts';
import type { CoordinateSet } from '../../src/core/journal/job.ts';
import { readJournalRecord } from '../../src/core/journal/journal-records.ts';
import { liveJobKeys } from '../chaos/judge/judge.ts';
import type { TestKafka } from '../support/kafka/kafka.ts';
import type { Replica, Stack } from '../support/stack/stack.ts';
import { groupPositions } from '../support/stack/stack-control.ts';
import { TopicReader } from '../support/stack/topic-reader.ts';
import { type ConnectorSetup, progressOf, START, sourceOf, withConnector } from './rounds.ts';

/** The session timeout of the default options and 30 s: the longest delay that docs/delivery.md allows for a kill. */
export const KILL_BOUND_MS = 60_000;
/** Interval of the shares of the records that are decided at the kill. */
const SHARES = [0.1, 0.8] as const;
/** From that share to the signal, ms at most: longer than a batch takes. */
const STRIKE_MS = 1_000;
const LOOK_MS = 100;
const END_LOOK_MS = 1_000;
/** Longest time from the restart to the end of the topic. */
const GIVE_UP_MS = 600_000;

export interface KillRun {
  /** Decided records at the last look before the kill. */
  readonly decidedBefore: number;
  /** From the restart to the first decision. */
  readonly firstMs: number;
  /**
   * From the restart to the decision of each record that the killed process had in a live job, or
   * had read, ascending. The rest of the topic is backlog.
   */
  readonly agesMs: readonly number[];
  /** From the restart to the last decision of all. */
  readonly allMs: number;
  readonly lost: number;
  readonly twice: number;
}

/** @param random numbers from 0 to 1, which choose the moment of the kill */
export async function killRun(
  kafka: TestKafka,
  directory: string,
  setup: ConnectorSetup,
  random: () => number,
): Promise<KillRun> {
  // A member's name is its host and port: only a restart on the same port finds its predecessor.
  const [port] = await freePorts(1);
  const config = { memory: {}, http: { port } };
  const all = { ...setup, pipeline: { batch: {}, review: {} }, config };
  return await withConnector(kafka, directory, all, async (stack, replicas) => {
    const [victim] = replicas as [Replica];
    await victim.logged('owns the shard');
    const [from, to] = SHARES.map((share) => share * setup.records) as [number, number];
    const killAt = from + random() * (to - from);
    const strikeMs = random() * STRIKE_MS;
    let decidedBefore = 0;
    for (; decidedBefore < killAt; await sleep(LOOK_MS))
      decidedBefore = (await progressOf([victim])).decided;
    await sleep(strikeMs);
    victim.process.kill('SIGKILL');
    await victim.process.exited;
    const restartMs = Date.now();
    await stack.startReplica(START);
    // Its claim comes seconds later: the journal is that of the killed process.
    const taken = takenOf(await kafka.readAll(stack.topics.journal));
    await untilAllDecided(kafka, { ...stack, topics: { ...stack.topics, source: setup.topic } });
    return {
      decidedBefore,
      ...(await waitsOf(kafka, stack, setup.records, restartMs, taken)),
    };
  });
}

type Taken = (partition: number, offset: number) => boolean;

/** Records of live jobs, and those below a committed position of intake. */
function takenOf(journal: Awaited<ReturnType<TestKafka['readAll']>>): Taken {
  const left = new Map<string, CoordinateSet | null>();
  const read = new Map<number, number>();
  for (const { key, value } of journal) {
    const entry = readJournalRecord(String(key), value === null ? null : String(value));
    if (entry?.entry === 'left') left.set(entry.id, entry.value);
    if (entry?.entry === 'progress') read.set(entry.partition, entry.value.read);
  }
  return (partition, offset) =>
    offset < (read.get(partition) ?? 0) ||
    [...left.values()].some((records) => records?.has(partition, offset));
}

async function untilAllDecided(
  kafka: TestKafka,
  stack: Pick<Stack, 'topics' | 'group'>,
): Promise<void> {
  const deadline = AbortSignal.timeout(GIVE_UP_MS);
  const isRead = async () =>
    (await groupPositions(kafka, stack)).every(({ committed, end }) => committed === end);
  const isSettled = async () => liveJobKeys(await kafka.readAll(stack.topics.journal)).length === 0;
  while (!((await isRead()) && (await isSettled()))) {
    deadline.throwIfAborted();
    await sleep(END_LOOK_MS);
  }
}

async function waitsOf(
  kafka: TestKafka,
  { topics }: Stack,
  records: number,
  restartMs: number,
  isTaken: Taken,
): Promise<Omit<KillRun, 'decidedBefore'>> {
  const seen = new Set<number>();
  const agesMs: number[] = [];
  let [decisions, firstMs, allMs] = [0, Infinity, 0];
  const reader = new TopicReader(kafka.brokers, topics.decisions);
  await reader.forEachToEnd(({ headers, value }) => {
    decisions++;
    const { partition, offset } = sourceOf(headers);
    seen.add(partition * 2 ** 32 + offset);
    const ageMs = decidedAtMs(value) - restartMs;
    if (ageMs < 0) return;
    firstMs = Math.min(firstMs, ageMs);
    allMs = Math.max(allMs, ageMs);
    if (isTaken(partition, offset)) agesMs.push(ageMs);
  });
  await reader.close();
  agesMs.sort((a, b) => a - b);
  const [lost, twice] = [records - seen.size, decisions - seen.size];
  return { firstMs, agesMs, allMs, lost, twice };
}

/** The last member of a decision. */
const decidedAtMs = (value: Buffer | null): number =>
  Date.parse(/"decided_at":"([^"]*)"/.exec(String(value?.subarray(-60)))?.[1] ?? '');
