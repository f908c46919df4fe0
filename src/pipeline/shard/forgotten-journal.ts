/**
 * Check for a lost journal: the journal is missing or empty, although its group has offsets that
 * this connector committed. The records of the lost live jobs would never get a terminal record.
 */
import { isOwnCommit } from '../../core/journal/shard-state.ts';
import type { ClusterAdmin } from '../../core/ports/kafka.ts';
import { RefusedError } from '../context/errors.ts';
import type { PipelineOptions } from '../context/options.ts';

type JournalOptions = Pick<PipelineOptions, 'source' | 'journal'>;

/** Maximum number of partitions that the error lists. */
const SHOWN = 8;

/** Returns the error's text. @param partitions source partitions whose offsets were committed with the lost journal */
export function forgottenJournal(
  { source, journal }: JournalOptions,
  partitions: readonly number[],
  state: string,
): string {
  const { group, topic } = source;
  const named =
    partitions.slice(0, SHOWN).join(', ') +
    (partitions.length > SHOWN ? ` and ${partitions.length - SHOWN} more` : '');
  return (
    `group ${group} has committed offsets of partition ${named} of source topic ${topic} together with a journal, but the journal topic ${JSON.stringify(journal.topic)} ${state}. ` +
    'Without it the records under review would end without a decision or dead letter. ' +
    'Restore the old journal (journal.topic, journal.partitions). To change the number of shards follow docs/faq.md, "Can I change the number of shards?". ' +
    'If the journal is lost, stop all replicas and set the offsets of the group by hand (docs/faq.md, "Can I continue without a lost journal?")'
  );
}

/** Returns the source partitions whose group offset was committed by this connector. */
export async function ownCommits(
  admin: ClusterAdmin,
  { source }: JournalOptions,
  partitions: number,
): Promise<number[]> {
  const all = Array.from({ length: partitions }, (_, partition) => partition);
  const committed = await admin.committed(source.group, source.topic, all);
  return all.filter((partition) => isOwnCommit(committed.get(partition)?.metadata ?? ''));
}

/**
 * Checks the journal topic before the group is joined. Later, each claim checks its own partition.
 * @param owned result of `ownCommits`, queried before the journal was described, because another
 * replica may create the journal in between
 * @param shards number of partitions of the journal topic, undefined if it does not exist
 * @throws RefusedError
 */
export async function refuseForgotten(
  admin: ClusterAdmin,
  options: JournalOptions,
  owned: readonly number[],
  shards: number | undefined,
): Promise<void> {
  if (owned.length === 0) return;
  if (shards === undefined)
    throw new RefusedError(forgottenJournal(options, owned, 'does not exist'));
  // If a partition has no leader, its end is unknown, and the claim of its shard checks it later.
  const ends = await admin.ends(options.journal.topic, [
    ...new Set(owned.map((partition) => partition % shards)),
  ]);
  const empty = [...ends].filter(([, end]) => end === 0).map(([shard]) => shard);
  if (empty.length === 0) return;
  const state =
    empty.length === shards
      ? 'is empty'
      : `is empty in partition ${empty.sort((a, b) => a - b).join(', ')}`;
  const lost = owned.filter((partition) => empty.includes(partition % shards));
  throw new RefusedError(forgottenJournal(options, lost, state));
}
