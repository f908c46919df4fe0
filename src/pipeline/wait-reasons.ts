/** Why parts of a pipeline wait (I8): shown in health, counted in a gauge, never silent. */
import type { Metrics } from '../core/ports/telemetry.ts';

export type WaitReason =
  /** The memory budget is used up: intake waits for uploads. */
  | 'memory'
  /** Too far from the watermark to the newest record read. */
  | 'span'
  /** The service refused this connector's key (401/403). */
  | 'unauthorized'
  /** The service does not take a content type (400). */
  | 'type_rejected'
  /** Five batches of a type failed in a row. */
  | 'type_failing'
  /** The service cannot be reached, or is overloaded. */
  | 'service_unavailable'
  /** The group has not been heard from: uploading could double another owner's work. */
  | 'membership'
  /** `output.order: source`: a batch submitted earlier is not through. */
  | 'order'
  /** The shard is being claimed. */
  | 'claim';

export class WaitReasons {
  readonly #metrics: Metrics;
  readonly #pipeline: string;
  readonly #waiting = new Map<WaitReason, Map<string, number>>();

  constructor(metrics: Metrics, pipeline: string) {
    this.#metrics = metrics;
    this.#pipeline = pipeline;
  }

  /** `who` (a shard, a type's upload, …) waits until the returned function is called. */
  begin(reason: WaitReason, who: string): () => void {
    let all = this.#waiting.get(reason);
    if (all === undefined) {
      all = new Map();
      this.#waiting.set(reason, all);
    }
    const waiters = all;
    waiters.set(who, (waiters.get(who) ?? 0) + 1);
    this.#publish(reason);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      const count = (waiters.get(who) ?? 1) - 1;
      if (count === 0) waiters.delete(who);
      else waiters.set(who, count);
      this.#publish(reason);
    };
  }

  /** Reasons in force, each with who waits. */
  current(): { reason: WaitReason; who: string[] }[] {
    return [...this.#waiting].filter(([, who]) => who.size > 0).map(([reason, who]) => ({ reason, who: [...who.keys()] }));
  }

  #publish(reason: WaitReason): void {
    this.#metrics.set('shards_paused', { pipeline: this.#pipeline, reason }, this.#waiting.get(reason)?.size ?? 0);
  }
}
