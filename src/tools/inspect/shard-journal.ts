/** Journal of one shard, read by an observer: the state that the next owner would recover. */
import { type Control, NO_CONTROL } from '../../core/journal/control.ts';
import type { JobRecord, LiveJob } from '../../core/journal/job.ts';
import { JournalFormatError } from '../../core/journal/journal-records.ts';
import { type JournalState, JournalView } from '../../core/journal/journal-view.ts';
import { isOwnCommit } from '../../core/journal/shard-state.ts';
import { OffsetSet } from '../../core/offset-set.ts';
import type { JournalEvidence } from './audit-balance.ts';
import { eachAtATime, InspectError, type Inspection } from './context.ts';

/** Maximum number of readings until the state is consistent. The journal may be written and compacted meanwhile. */
const MAX_ATTEMPTS = 5;

export interface ShardJournal {
  readonly shard: number;
  readonly state: JournalState;
}

/** Live batch or other job. */
export interface JobReport
  extends Pick<
    JobRecord,
    'id' | 'remoteId' | 'type' | 'attempt' | 'depth' | 'count' | 'createdMs' | 'oldestEventMs'
  > {
  readonly shard: number;
  /** Number of rows that are not settled yet. */
  readonly left: number;
}

export function jobReport(shard: number, { record, left }: LiveJob): JobReport {
  const { id, remoteId, type, attempt, depth, count, createdMs, oldestEventMs } = record;
  return {
    ...{ id, remoteId, type, attempt, depth, count, createdMs, oldestEventMs, shard },
    left: left.size,
  };
}

/** Reads the new records in the journals of all shards, a few shards at a time. */
export async function readAll(
  readers: readonly ReturnType<typeof journalReader>[],
  to: 'stable' | 'end',
): Promise<ShardJournal[]> {
  const journals: ShardJournal[] = [];
  await eachAtATime(readers.entries(), async ([shard, read]) => {
    journals[shard] = await read(to);
  });
  return journals;
}

/** Returns the newest command in any partition. One partition may show it earlier than another. */
export const newestOf = (journals: readonly ShardJournal[]): Control =>
  journals.map(({ state }) => state).sort((a, b) => b.control.revision - a.control.revision)[0]
    ?.control ?? NO_CONTROL;

/**
 * Reads a shard's journal to its current end.
 * @throws InspectError `refused` if the journal belongs to another pipeline, application or version
 */
export const readShardJournal = (inspection: Inspection, shard: number): Promise<ShardJournal> =>
  journalReader(inspection, shard)();

/**
 * Returns a function that reads the new records of a shard's journal, up to its current end.
 * @param to argument of that function: `end` waits for open transactions; `stable` stops before
 * them
 */
export function journalReader(
  inspection: Inspection,
  shard: number,
): (to?: 'stable' | 'end') => Promise<ShardJournal> {
  const view = new JournalView();
  let position = 0;
  return async (to = 'stable') => {
    const { scan, pipeline, signal } = inspection;
    const { journal } = pipeline.topics;
    for (let attempt = 1; ; attempt++) {
      const all = await scan.bounds(journal);
      const bounds = all.get(shard);
      if (bounds === undefined)
        throw new InspectError('usage', `the journal ${journal} has no partition ${shard}`);
      try {
        await scan.read(
          journal,
          { partition: shard, from: Math.max(position, bounds.start), until: bounds[to] },
          ({ records, unreadable, nextOffset }) => {
            for (const { key, value } of records)
              view.fold(key?.toString() ?? '', value?.toString() ?? null);
            if (unreadable !== undefined)
              throw new JournalFormatError(
                `offset ${unreadable.from}: ${unreadable.poison.message}`,
              );
            // `nextOffset` may be beyond the last delivered record.
            position = Math.min(nextOffset, bounds[to]);
          },
          signal,
        );
        const state = view.finish();
        checkMeta(inspection, state, all.size);
        return { shard, state };
      } catch (error) {
        if (!(error instanceof JournalFormatError)) throw error;
        // Compaction may have removed a record that a later one replaces. Reads on to that later record.
        const more = ((await scan.bounds(journal)).get(shard)?.stable ?? 0) > position;
        if (!more || attempt === MAX_ATTEMPTS)
          throw new InspectError(
            'refused',
            `partition ${shard} of the journal ${journal}: ${error.message}`,
            { cause: error },
          );
      }
    }
  };
}

function checkMeta({ pipeline }: Inspection, { meta }: JournalState, shards: number): void {
  const { group, kind, topics } = pipeline;
  if (meta === undefined) return;
  if (meta.group !== group || meta.source !== topics.source || meta.kind !== kind)
    throw new InspectError(
      'refused',
      `the journal ${topics.journal} belongs to group ${meta.group} and topic ${meta.source} (${meta.kind}), not to ${group} and ${topics.source} (${kind}): is this the configuration that the pipeline runs with?`,
    );
  if (meta.shards !== shards)
    throw new InspectError(
      'refused',
      `the journal ${topics.journal} was created with ${meta.shards} partitions and now has ${shards}: the shards of its records can no longer be determined`,
    );
}

/**
 * Returns the evidence in the journal about source partitions. If this connector committed the
 * offset of a partition but the journal has no progress of it, the progress was in an earlier
 * journal. The journal is read once more to be sure, because a first claim may have committed both
 * after the first reading.
 */
export async function journalEvidence(
  inspection: Inspection,
  { shard, state }: ShardJournal,
  partitions: readonly number[],
): Promise<(partition: number) => JournalEvidence> {
  const { admin, pipeline } = inspection;
  const inherited = new Map<number, number>();
  const unknown = partitions.filter((partition) => !state.progress.has(partition));
  if (unknown.length > 0) {
    const committed = await admin.committed(pipeline.group, pipeline.topics.source, unknown);
    for (const [partition, { offset, metadata }] of committed)
      if (offset !== null && isOwnCommit(metadata)) inherited.set(partition, offset);
    if (inherited.size > 0) {
      const { progress } = (await readShardJournal(inspection, shard)).state;
      for (const partition of progress.keys()) inherited.delete(partition);
    }
  }
  return (partition) => {
    const progress = state.progress.get(partition);
    const live = new OffsetSet();
    for (const { left } of state.jobs.values())
      for (const [of, offsets] of left.entries())
        if (of === partition) for (const [from, to] of offsets.ranges()) live.addRange(from, to);
    return {
      watermark: progress?.watermark ?? inherited.get(partition) ?? 0,
      claimed: progress?.claimed ?? new OffsetSet(),
      live,
      start: progress?.start ?? inherited.get(partition) ?? 0,
      isStartInherited: progress?.inherited === true || inherited.has(partition),
      wasReset: (progress?.replay ?? 0) > 0,
    };
  };
}
