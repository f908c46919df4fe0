/** The judge of I4: notes every upload that reached the storage before its job was committed to the journal. */
import type { Cluster } from '../memory/kafka/cluster.ts';

export class UploadWatch {
  /** Remote ids uploaded too early. */
  readonly early: string[] = [];
  readonly #journal: string;
  /** Remote ids that the journal has ever named: compaction may have taken them out again. */
  readonly #recorded = new Set<string>();

  constructor(journal: string) {
    this.#journal = journal;
  }

  /** Call before the journal is compacted. */
  read(cluster: Cluster): void {
    if (cluster.describe(this.#journal) === undefined) return;
    for (const { key, value } of cluster.durableRecords(this.#journal)) {
      if (value === null || !/^job\/[^/]+$/.test(String(key))) continue;
      this.#recorded.add((JSON.parse(String(value)) as { remoteId: string }).remoteId);
    }
  }

  /** Call when a body reaches the storage. */
  uploaded(cluster: Cluster, remoteId: string): void {
    if (!this.#recorded.has(remoteId)) this.read(cluster);
    if (!this.#recorded.has(remoteId)) this.early.push(remoteId);
  }
}
