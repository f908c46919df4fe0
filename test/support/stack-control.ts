/** What tests ask of a running stack: the jobs of a replica by its log, the sandbox's batches and faults, the group's offsets. */
import type { BatchSummary } from '../../src/sandbox/control-routes.ts';
import type { FaultInput } from '../../src/sandbox/faults/schema.ts';
import type { ScriptEntry } from '../../src/sandbox/faults/script.ts';
import type { TestKafka } from './kafka.ts';
import { parseLogLine, type Replica, type Stack } from './stack.ts';

export interface SandboxBatches {
  readonly totals: { readonly batches: number; readonly uploads: number; readonly rows: number };
  readonly batches: readonly BatchSummary[];
}

/** Every batch that the sandbox has seen. */
export async function sandboxBatches(stack: Stack): Promise<SandboxBatches> {
  const answer = await fetch(`${stack.sandboxUrl}/sandbox/batches`);
  if (!answer.ok) throw new Error(`the sandbox answered ${answer.status}`);
  return (await answer.json()) as SandboxBatches;
}

/** The fault script, with how often each entry has hit. */
export async function sandboxFaults(stack: Stack): Promise<readonly ScriptEntry[]> {
  const answer = await fetch(`${stack.sandboxUrl}/sandbox/faults`);
  if (!answer.ok) throw new Error(`the sandbox answered ${answer.status}`);
  return ((await answer.json()) as { readonly faults: readonly ScriptEntry[] }).faults;
}

/** Replaces the fault script. */
export async function setFaults(stack: Stack, faults: readonly FaultInput[]): Promise<void> {
  const answer = await fetch(`${stack.sandboxUrl}/sandbox/faults`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(faults),
  });
  if (!answer.ok) throw new Error(`the sandbox answered ${answer.status}: ${await answer.text()}`);
}

/** How far each replica's log was read, and what it said. */
const followed = new WeakMap<Replica, { at: number; readonly owned: Map<number, number> }>();

/** Shards that a replica owns, with the number of live jobs in each, by what it has logged (level debug). */
export function ownedJobs(replica: Replica): ReadonlyMap<number, number> {
  const log = followed.get(replica) ?? { at: 0, owned: new Map<number, number>() };
  followed.set(replica, log);
  const { owned } = log;
  for (; log.at < replica.lines.length; log.at++) {
    const line = parseLogLine(replica.lines[log.at] as string);
    if (line === undefined) continue;
    const shard = Number(line.shard);
    const jobs = owned.get(shard);
    if (line.msg === 'joined the group') {
      const kept = line.shards as readonly number[];
      for (const one of owned.keys()) if (!kept.includes(one)) owned.delete(one);
    } else if (line.msg === 'owns the shard') owned.set(shard, Number(line.jobs));
    else if (line.msg === 'lost the shard; claiming it again once the group answers') owned.delete(shard);
    else if (jobs === undefined) continue;
    else if (line.msg === 'batch created') owned.set(shard, jobs + 1);
    else if (line.msg === 'batch settled') owned.set(shard, Math.max(0, jobs - 1));
  }
  return owned;
}

/** Live jobs of all shards that a replica owns. */
export function liveJobs(replica: Replica): number {
  let sum = 0;
  for (const jobs of ownedJobs(replica).values()) sum += jobs;
  return sum;
}

export interface GroupPosition {
  readonly partition: number;
  /** -1 when the group has none. */
  readonly committed: number;
  /** One past the last record, control records included. */
  readonly end: number;
}

/** How far the stack's group has committed its source. */
export async function groupPositions(kafka: TestKafka, stack: Stack): Promise<GroupPosition[]> {
  const admin = await kafka.admin();
  const topic = stack.topics.source;
  const [committed] = await admin.fetchOffsets({ groupId: stack.group, topics: [topic] });
  const ends = await admin.fetchTopicOffsets(topic);
  return ends.map(({ partition, high }) => ({
    partition,
    committed: Number(committed?.partitions.find((one) => one.partition === partition)?.offset ?? -1),
    end: Number(high),
  }));
}
