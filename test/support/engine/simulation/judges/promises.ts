/**
 * Judge of commands. Checks in the committed transactions that no job begins after the acknowledgement of the newest
 * pause, and that no job is live when a drain is acknowledged as ended.
 */
import type { Acknowledgement, Control } from '../../../../../src/core/journal/control.ts';
import { NO_CONTROL } from '../../../../../src/core/journal/control.ts';
import type { JobRecord } from '../../../../../src/core/journal/job.ts';
import { readJournalRecord } from '../../../../../src/core/journal/journal-records.ts';
import type { CommittedTransaction } from '../../../memory/kafka/transaction-coordinator.ts';
import { Violation } from './violation.ts';

interface Shard {
  control: Control;
  acknowledged: Acknowledgement | undefined;
  readonly jobs: Map<string, JobRecord>;
}

export class Promises {
  /** Number of acknowledgements seen, and of those that report an ended drain. */
  readonly seen = { acknowledged: 0, drained: 0 };
  readonly #journal: string;
  readonly #shards = new Map<number, Shard>();

  constructor(journal: string) {
    this.#journal = journal;
  }

  /** @throws Violation */
  committed({ records }: CommittedTransaction): void {
    for (const { topic, partition, record } of records) {
      if (topic !== this.#journal) continue;
      const { key, value } = record;
      this.#fold(this.#shard(partition), String(key), value === null ? null : String(value));
    }
  }

  /** Checks the journal when a command line reports that the pipeline is drained. @throws Violation */
  reported(revision: number): void {
    for (const [shard, { control, acknowledged, jobs }] of this.#shards) {
      if (control.revision !== revision || control.hold === undefined) return;
      if (acknowledged?.revision !== revision || !acknowledged.drained || jobs.size > 0)
        throw new Violation('command', `shard ${shard} is reported as drained, but is not`);
    }
  }

  #fold(shard: Shard, key: string, value: string | null): void {
    const entry = readJournalRecord(key, value);
    if (entry.entry === 'control') shard.control = entry.value ?? shard.control;
    else if (entry.entry === 'control/ack' && entry.value !== undefined)
      this.#acknowledged(shard, entry.value);
    else if (entry.entry === 'job') {
      if (entry.value === null) shard.jobs.delete(entry.id);
      else {
        assertMayBegin(shard, entry.value);
        shard.jobs.set(entry.id, entry.value);
      }
    }
  }

  #acknowledged(shard: Shard, answer: Acknowledgement): void {
    shard.acknowledged = answer;
    this.seen.acknowledged++;
    if (answer.drained) this.seen.drained++;
    for (const { id } of shard.jobs.values())
      if (answer.drained)
        throw new Violation('command', `a drain is acknowledged as ended while job ${id} is live`);
  }

  #shard(partition: number): Shard {
    let shard = this.#shards.get(partition);
    if (shard === undefined) {
      shard = { control: NO_CONTROL, acknowledged: undefined, jobs: new Map() };
      this.#shards.set(partition, shard);
    }
    return shard;
  }
}

function assertMayBegin({ control, acknowledged }: Shard, { id }: JobRecord): void {
  if (acknowledged?.revision !== control.revision) return;
  if (control.hold?.state === 'paused' || acknowledged.drained)
    throw new Violation(
      'command',
      `job ${id} begins after the acknowledgement of revision ${control.revision}, which holds its shard`,
    );
}
