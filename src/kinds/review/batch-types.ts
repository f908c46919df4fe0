import { foldName } from '../../../packages/client/src/results/column-names.ts';

/** Batches in a row under another name after which that is the service's own name for the type. */
const RENAMED_AFTER = 3;
/** Content types, and batches, remembered. */
const MAX_REMEMBERED = 1000;

/**
 * Detector of batches that belong to another job although the service returned their id: the
 * service reports another content type for them, and reviews uploads by the rules of that type, so
 * the rows of the result file are the job's own and only their results are wrong. The first answers
 * of a process count as well, since the job of such a batch may outlive the process that detected
 * it.
 *
 * A service may have its own name for a type: it costs three batches per process, then the name is
 * accepted, so that no batch is resubmitted permanently.
 */
export class BatchTypes {
  /** Batches by type that have another name, since one was last reported with the type as sent. */
  readonly #others = new Map<string, Set<string>>();
  /** The newest batches that had the type as sent once: they stay the job's own. */
  readonly #own = new Set<string>();

  isForeign(batchId: string, sent: string, reported: string | undefined): boolean {
    if (reported === undefined) return false;
    const batch = JSON.stringify([sent, batchId]);
    if (foldName(reported) === foldName(sent)) {
      this.#others.delete(sent);
      this.#remember(batch);
      return false;
    }
    const others = this.#others.get(sent) ?? new Set();
    if (this.#own.has(batch)) return false;
    if (others.has(batchId)) return true;
    if (others.size === RENAMED_AFTER) return false;
    if (others.size === 0 && this.#others.size === MAX_REMEMBERED) return false;
    this.#others.set(sent, others.add(batchId));
    return true;
  }

  #remember(batch: string): void {
    this.#own.delete(batch);
    this.#own.add(batch);
    const [oldest] = this.#own;
    if (this.#own.size > MAX_REMEMBERED && oldest !== undefined) this.#own.delete(oldest);
  }
}
