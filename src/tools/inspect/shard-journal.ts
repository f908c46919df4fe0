/** One shard's journal as an observer reads it: the state that an owner would replay, and what older records still tell. */
import {
  type JournalEntry,
  JournalFormatError,
  type PartitionProgress,
  readJournalRecord,
} from '../../core/journal/journal-records.ts';
import { type JournalState, JournalView } from '../../core/journal/journal-view.ts';
import { isOwnCommit } from '../../core/journal/shard-state.ts';
import { OffsetSet } from '../../core/offsets/offset-set.ts';
import type { JournalWord } from './account.ts';
import { InspectError, type Inspection } from './context.ts';

/** A journal that goes on being written and compacted while it is read may need a second look to make sense. */
const MAX_PASSES = 5;

export interface ShardJournal {
  readonly shard: number;
  readonly state: JournalState;
  readonly history: ProgressHistory;
  /** By partition: offsets left in live jobs. */
  readonly live: ReadonlyMap<number, OffsetSet>;
}

/** Told of every record of the journal still there, in order. */
export type JournalObserver = (entry: JournalEntry, writtenMs: number) => void;

/**
 * Reads a shard's journal to its end as it is now.
 * @throws InspectError `refused` when it cannot be understood: it is another application's, or of a newer version.
 */
export async function readShardJournal(
  inspection: Inspection,
  shard: number,
  observe?: JournalObserver,
): Promise<ShardJournal> {
  const { scan, pipeline, signal } = inspection;
  const view = new JournalView();
  const history = new ProgressHistory();
  let position = 0;
  for (let pass = 1; ; pass++) {
    // Only what is committed: an open transaction of the owner says nothing yet, and must not hold us up.
    const all = await scan.bounds(pipeline.topics.journal);
    const shards = all.size;
    const bounds = all.get(shard);
    if (bounds === undefined) {
      throw new InspectError(
        'usage',
        `the journal ${pipeline.topics.journal} has no partition ${shard}`,
      );
    }
    try {
      await scan.read(
        pipeline.topics.journal,
        { partition: shard, from: Math.max(position, bounds.start), until: bounds.stable },
        ({ records, unreadable, nextOffset }) => {
          for (const record of records) {
            const key = record.key?.toString() ?? '';
            const value = record.value?.toString() ?? null;
            view.fold(key, value);
            const entry = readJournalRecord(key, value);
            if (entry.entry === 'progress') history.fold(entry.partition, entry.value);
            observe?.(entry, record.timestampMs);
          }
          if (unreadable !== undefined)
            throw new JournalFormatError(`offset ${unreadable.from}: ${unreadable.poison.message}`);
          position = nextOffset;
        },
        signal,
      );
      const state = view.finish();
      checkMeta(inspection, state, shards);
      return { shard, state, history, live: liveOffsets(state) };
    } catch (error) {
      if (!(error instanceof JournalFormatError)) throw error;
      // Compaction may have removed a record for the sake of one written after this pass began: read on to it.
      const more =
        ((await scan.bounds(pipeline.topics.journal)).get(shard)?.stable ?? 0) > position;
      if (!more || pass === MAX_PASSES) {
        throw new InspectError(
          'refused',
          `partition ${shard} of the journal ${pipeline.topics.journal}: ${error.message}`,
          {
            cause: error,
          },
        );
      }
    }
  }
}

function checkMeta({ pipeline }: Inspection, { meta }: JournalState, shards: number): void {
  const { group, kind, topics } = pipeline;
  if (meta === undefined) return;
  const refuse = (why: string) =>
    new InspectError('refused', `the journal ${topics.journal} ${why}`);
  if (meta.group !== group || meta.source !== topics.source || meta.kind !== kind) {
    throw refuse(
      `belongs to group ${meta.group} and topic ${meta.source} (${meta.kind}), not to ${group} and ${topics.source} (${kind}): is this the configuration that the pipeline runs with?`,
    );
  }
  if (meta.shards !== shards) {
    throw refuse(
      `was made with ${meta.shards} partitions and has ${shards}: which records its shards hold can no longer be told`,
    );
  }
}

/**
 * Offsets that this connector committed for the group, of partitions that the journal knows nothing of: an earlier journal did.
 * Those of the first claim are in the journal as soon as they are committed, so the journal is read once more.
 */
export async function forgottenOffsets(
  inspection: Inspection,
  journal: ShardJournal,
  partitions: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const { admin, pipeline } = inspection;
  const unknown = partitions.filter((partition) => !journal.state.progress.has(partition));
  if (unknown.length === 0) return new Map();
  const committed = await admin.committed(pipeline.group, pipeline.topics.source, unknown);
  const own = new Map<number, number>();
  for (const [partition, { offset, metadata }] of committed)
    if (offset !== null && isOwnCommit(metadata)) own.set(partition, offset);
  if (own.size > 0)
    for (const partition of (
      await readShardJournal(inspection, journal.shard)
    ).state.progress.keys())
      own.delete(partition);
  return own;
}

/** Progress of one partition according to the journal. @param forgotten result of `forgottenOffsets` */
export function journalWord(
  journal: ShardJournal | undefined,
  partition: number,
  forgotten?: number,
): JournalWord {
  const progress = journal?.state.progress.get(partition);
  const live = journal?.live.get(partition);
  const passedOver = journal?.history.passedOver(partition);
  return {
    watermark: progress?.watermark ?? forgotten ?? 0,
    isClaimed: (offset) => progress?.claimed.has(offset) ?? false,
    isLive: (offset) => live?.has(offset) ?? false,
    start: journal?.history.startOf(partition) ?? forgotten,
    isStartInherited: progress?.inherited === true || forgotten !== undefined,
    isPassedOver: (offset) => passedOver?.has(offset) ?? false,
    hasForgottenResets: journal?.history.hasForgottenResets(partition) ?? false,
  };
}

function liveOffsets(state: JournalState): Map<number, OffsetSet> {
  const live = new Map<number, OffsetSet>();
  for (const job of state.jobs.values()) {
    for (const [partition, offsets] of job.left.entries()) {
      const all = live.get(partition) ?? new OffsetSet();
      live.set(partition, all);
      for (const offset of offsets) all.add(offset);
    }
  }
  return live;
}

/**
 * Where a partition began and what resets passed over, as far as compaction has left the records that tell it. Exact where
 * they are there; `forgotten` where they are not.
 */
export class ProgressHistory {
  readonly #last = new Map<number, PartitionProgress>();
  readonly #starts = new Map<number, number>();
  readonly #passedOver = new Map<number, OffsetSet>();
  readonly #forgottenResets = new Set<number>();

  fold(partition: number, progress: PartitionProgress): void {
    const before = this.#last.get(partition);
    this.#last.set(partition, progress);
    if (progress.start !== undefined) this.#starts.set(partition, progress.start);
    // Of a version that did not write it. Nothing was ever claimed: no record between the start and W.
    else if (progress.last === null && progress.replay === 0)
      this.#starts.set(partition, progress.watermark);
    const resets = progress.replay - (before?.replay ?? 0);
    if (resets === 1 && before !== undefined && progress.last === null)
      this.#passOver(partition, before, progress.watermark);
    else if (resets > 0) this.#forgottenResets.add(partition);
  }

  /** The first offset that the pipeline took responsibility for; undefined when the journal no longer says. */
  startOf(partition: number): number | undefined {
    return this.#starts.get(partition);
  }

  /** Offsets that a forward reset skipped: they have no terminal record, as the operator wanted. */
  passedOver(partition: number): OffsetSet | undefined {
    return this.#passedOver.get(partition);
  }

  /** Whether the group was reset in a way that the journal no longer tells in full. */
  hasForgottenResets(partition: number): boolean {
    return this.#forgottenResets.has(partition);
  }

  #passOver(partition: number, before: PartitionProgress, watermark: number): void {
    const passed = this.#passedOver.get(partition) ?? new OffsetSet();
    this.#passedOver.set(partition, passed);
    // Offsets up to the new W that were claimed before were settled, or are still in live jobs.
    for (const [from, to] of before.claimed.gaps(before.watermark, watermark))
      passed.addRange(from, to);
  }
}
