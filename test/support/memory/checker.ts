/**
 * Judge of a run with MemoryKafka. It reads the journal and the outputs as a read_committed consumer does, and
 * compares them with the source: I1 (conservation) at any time, I2 (exactly one terminal record) at the end.
 */

import { JournalView } from '../../../src/core/journal/journal-view.ts';
import { DEAD_LETTER_HEADERS } from '../../../src/core/outcome/dead-letter.ts';
import { lastHeader, type SourceCoordinate, type SourceRecord } from '../../../src/core/record.ts';
import type { PipelineTopics } from './kafka/client.ts';
import type { Cluster } from './kafka/cluster.ts';

export interface CheckOptions extends PipelineTopics {
  /** Topics of terminal records: decisions and dead letters. */
  readonly outputs: readonly string[];
}

/** Coordinates as `<partition>:<offset>`. Every list except `liveJobs` is empty if there is no violation. */
export interface Verdict {
  /** Records without a terminal record that are in no live job. They are lost, unless they were not consumed yet. */
  readonly missing: readonly string[];
  /** Records with more than one terminal record. */
  readonly doubled: readonly string[];
  /** Records that a terminal record names, but that are not in the source. */
  readonly unexpected: readonly string[];
  /** Records below the group's committed offset that are neither settled nor in a live job (I1). */
  readonly lost: readonly string[];
  /** Records that are settled and in a live job, or in two live jobs (I1). */
  readonly contradictory: readonly string[];
  readonly liveJobs: readonly string[];
  /** Number of terminal records. */
  readonly settled: number;
}

/** Judges the current committed state. @throws JournalFormatError if the journal contradicts itself */
export function judge(cluster: Cluster, options: CheckOptions): Verdict {
  const settled = countTerminalRecords(cluster, options.outputs);
  const live = readLiveJobs(cluster, options.journal);
  const known = new Set<string>();
  const missing: string[] = [];
  const lost: string[] = [];
  for (const record of cluster.committedRecords(options.source)) {
    const id = idOf(record);
    known.add(id);
    if (settled.has(id)) continue;
    if (!live.named.has(id)) missing.push(id);
    const committed = cluster.committedOffset(
      options.group,
      options.source,
      record.partition,
    ).offset;
    if (!live.named.has(id) && committed !== null && record.offset < committed) lost.push(id);
  }
  const total = [...settled.values()].reduce((sum, count) => sum + count, 0);
  return {
    missing,
    doubled: [...settled].filter(([, count]) => count > 1).map(([id]) => id),
    unexpected: [...settled.keys()].filter((id) => !known.has(id)),
    lost,
    contradictory: [...live.named]
      .filter(([id, jobs]) => jobs > 1 || settled.has(id))
      .map(([id]) => id),
    liveJobs: live.jobs,
    settled: total,
  };
}

/**
 * True if every source record has a terminal record and no job is live. Called often, so it reads the journal only if
 * needed.
 */
export function isSettled(cluster: Cluster, options: CheckOptions): boolean {
  const settled = countTerminalRecords(cluster, options.outputs);
  return (
    cluster.committedRecords(options.source).every((record) => settled.has(idOf(record))) &&
    readLiveJobs(cluster, options.journal).jobs.length === 0
  );
}

/** Asserts at the end of a run: one terminal record per source record, and no live job. @throws Error with the violations */
export function assertExactlyOnce(cluster: Cluster, options: CheckOptions): void {
  const { settled, ...lists } = judge(cluster, options);
  const wrong = Object.entries(lists).filter(([, all]) => all.length > 0);
  if (wrong.length === 0) return;
  const lines = wrong.map(([what, all]) => `${what} ${all.length}: ${all.slice(0, 10).join(' ')}`);
  throw new Error(`not exactly once (${settled} terminal records): ${lines.join('; ')}`);
}

/** Cache by the headers of a record, because a run is judged many times. */
const coordinates = new WeakMap<object, SourceCoordinate>();

/** Returns the source coordinate in a terminal record, from a dead letter's headers or a decision's JSON. */
export function terminalCoordinate(record: SourceRecord): SourceCoordinate {
  const known = coordinates.get(record.headers);
  if (known !== undefined) return known;
  const found = coordinateIn(record);
  coordinates.set(record.headers, found);
  return found;
}

function coordinateIn(record: SourceRecord): SourceCoordinate {
  const partition = lastHeader(record.headers, DEAD_LETTER_HEADERS.partition);
  const offset = lastHeader(record.headers, DEAD_LETTER_HEADERS.offset);
  const at =
    partition !== undefined && offset !== undefined
      ? { partition: Number(String(partition)), offset: Number(String(offset)) }
      : (JSON.parse(String(record.value)) as { source?: SourceCoordinate } & SourceCoordinate);
  const found = 'source' in at && at.source !== undefined ? at.source : at;
  if (Number.isSafeInteger(found.partition) && Number.isSafeInteger(found.offset)) return found;
  throw new Error(
    `the record at ${record.partition}:${record.offset} of an output does not name its source record`,
  );
}

function countTerminalRecords(cluster: Cluster, outputs: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const topic of outputs) {
    for (const record of cluster.durableRecords(topic)) {
      const id = idOf(terminalCoordinate(record));
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
  }
  return counts;
}

/** Returns the ids of live jobs, and the number of live jobs that contain each source record. */
function readLiveJobs(
  cluster: Cluster,
  journal: string,
): { jobs: string[]; named: Map<string, number> } {
  const jobs: string[] = [];
  const named = new Map<string, number>();
  for (let shard = 0; shard < cluster.partitions(journal); shard++) {
    const view = new JournalView();
    for (const { key, value } of cluster.log(journal, shard).durable())
      view.fold(String(key), value && String(value));
    for (const job of view.finish().jobs.values()) {
      jobs.push(job.record.id);
      for (const at of job.left) named.set(idOf(at), (named.get(idOf(at)) ?? 0) + 1);
    }
  }
  return { jobs, named };
}

function idOf(at: SourceCoordinate): string {
  return `${at.partition}:${at.offset}`;
}
