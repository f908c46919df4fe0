/**
 * A journal that is missing or empty while its group has committed offsets of this connector. What was under review stood in the
 * journal alone: going on from those offsets without it would leave records without a terminal record.
 */

import { isOwnCommit } from '../../core/journal/shard-state.ts';
import type { ClusterAdmin } from '../../core/ports/kafka.ts';
import { RefusedError } from '../context/errors.ts';
import type { PipelineOptions } from '../context/options.ts';

export type JournalOptions = Pick<PipelineOptions, 'source' | 'journal'>;

/** Partitions that a refusal names. */
const SHOWN = 8;

/** The refusal, with what can be done. @param partitions source partitions whose offsets were committed with the journal that is lost */
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
    'What was under review stands in that journal alone: without it those records would end without a decision or dead letter. ' +
    'Put the old journal back (journal.topic, journal.partitions). To change the number of shards follow docs/faq.md, "Can I change the number of shards?". ' +
    'If the journal is lost, stop all replicas and set the offsets of the group by hand, as docs/faq.md, "The journal is lost: can I go on without it?" shows: a start accepts offsets that were set by hand'
  );
}

/** Source partitions with an offset that this connector committed for the group. */
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
 * Checks the journal topic before the group is joined; each claim looks for its shard's own record once more.
 * @param owned of `ownCommits`, asked for before the journal was described: another replica may make it at the same time
 * @param shards partitions of the journal topic; undefined when it does not exist
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
  // A partition without a leader has no known end: its claim looks when it has one.
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
