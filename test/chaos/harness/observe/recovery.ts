/** Time from Kafka's return after a fault until every group has all its members and records flow. */
import { TopicWriter } from '../../../support/stack/topic-writer.ts';
import type { World } from '../world.ts';

/** Maximum time of a recovery while Kafka responds, ms. */
const RECOVERY_BOUND_MS = 10_000;
/** Maximum time of a response that counts. Slower responses come from a starting broker or an overloaded machine. */
const ANSWER_MS = 1_000;
const PERIOD_MS = 100;
/** Real time after which a recovery has failed. */
const GIVE_UP_MS = 90_000;

/** Checks brokers, groups and outputs of a world after one fault. */
export class Recovery {
  readonly #world: World;
  readonly #withFlow: boolean;
  readonly #sinceMs = performance.now();
  readonly #starvedMs = new Map<string, number>();
  #consumed: ReadonlyMap<string, number> | undefined;
  #writer: TopicWriter;

  /** @param withFlow false if records need not flow, since the fault affected the service and not Kafka */
  constructor(world: World, withFlow: boolean) {
    this.#world = world;
    this.#withFlow = withFlow;
    this.#writer = new TopicWriter(world.kafka.brokers);
  }

  /**
   * Checks until nothing is missing, or the bound is exceeded. Counts only the time in which Kafka responded within a
   * second and no replica lacked a processor.
   * @param fromMs `performance.now()` before which no time counts
   * @returns counted time in ms, and descriptions of the parts that were still missing
   */
  async end(fromMs: number): Promise<{ readonly ms: number; readonly missing: readonly string[] }> {
    const giveUpMs = performance.now() + GIVE_UP_MS;
    let ms = 0;
    for (;;) {
      const beganMs = performance.now();
      const missing = await this.#missing().catch(() => undefined);
      const starvedMs = this.starvedMs();
      const answered = missing !== undefined && performance.now() - beganMs <= ANSWER_MS;
      if (missing?.length === 0) return { ms, missing };
      if (answered && ms > RECOVERY_BOUND_MS) return { ms, missing };
      if (beganMs > giveUpMs) return { ms, missing: missing ?? ['Kafka does not respond'] };
      await this.#world.sleep(PERIOD_MS);
      const tookMs = performance.now() - Math.max(beganMs, fromMs);
      if (answered) ms += Math.max(0, tookMs - starvedMs);
    }
  }

  async close(): Promise<void> {
    await this.#writer.close().catch(() => undefined);
  }

  async #missing(): Promise<string[]> {
    const { kafka, pipelines, fleet } = this.#world;
    if (this.#consumed === undefined) {
      await fleet.lookAtAll().catch(() => undefined);
      this.#consumed = this.#consumption();
    }
    const before = this.#consumed;
    const now = this.#consumption();
    const admin = await kafka.admin();
    const topics = pipelines.flatMap(({ pipeline }) => Object.values(pipeline.topics));
    const [{ groups }] = await Promise.all([
      admin.describeGroups(pipelines.map(({ pipeline }) => pipeline.group)),
      ...topics.map((topic) => admin.fetchTopicOffsets(topic)),
      this.#write(),
    ]);
    const due = fleet.members.map((replica) => fleet.memberOf(replica)).sort();
    return pipelines.flatMap(({ kind, pipeline, view, ledger, isLimited }) => {
      const group = groups.find(({ groupId }) => groupId === pipeline.group);
      const clients = group?.members.map(({ clientId }) => clientId).sort() ?? [];
      const away = fleet.away.map((replica) => fleet.memberOf(replica));
      const there = clients.filter((client) => !away.includes(client));
      const whole = group?.state === 'Stable' && there.join() === due.join();
      const reads = [...now].some(
        ([name, count]) => name.endsWith(`/${pipeline.name}`) && count > (before.get(name) ?? 0),
      );
      const flows = ledger.due === 0 || view.lastTerminalMs > this.#sinceMs || reads;
      return [
        ...(whole
          ? []
          : [`the group of ${kind} is ${group?.state} with ${clients.join(', ') || 'no member'}`]),
        ...(flows || isLimited || !this.#withFlow
          ? []
          : [`no record of ${kind} is read or settled`]),
      ];
    });
  }

  async #write(): Promise<void> {
    const writer = this.#writer;
    const records = this.#world.brokers.map((_, partition) => ({ partition, value: 'probe' }));
    try {
      await writer.write(this.#world.probeTopic, records);
    } catch (error) {
      // Replaces the writer, because its producer cannot be used after a failure.
      this.#writer = new TopicWriter(this.#world.kafka.brokers);
      await writer.close().catch(() => undefined);
      throw error;
    }
  }

  /** Number of consumed events by `replica/pipeline`. */
  #consumption(): ReadonlyMap<string, number> {
    const { fleet, pipelines } = this.#world;
    return new Map(
      fleet.running.flatMap((replica) =>
        pipelines.map(({ pipeline: { name } }) => [
          `${replica.name}/${name}`,
          fleet.consumed(replica, name),
        ]),
      ),
    );
  }

  /** Returns the time since the last call in which a replica was runnable but had no processor, ms. */
  starvedMs(): number {
    const { fleet } = this.#world;
    return Math.max(
      0,
      ...fleet.running.map((replica) => {
        const nowMs = fleet.starvedMs(replica);
        const before = this.#starvedMs.get(replica.name) ?? nowMs;
        this.#starvedMs.set(replica.name, nowMs);
        return nowMs - before;
      }),
    );
  }
}
