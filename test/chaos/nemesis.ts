/**
 * Kills and freezes the replicas of a stack at moments drawn from a seed, and keeps count of what was hit. A killed replica
 * is replaced at once. A frozen one sleeps until another replica owns one of its shards, and wakes as a zombie.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import type { SeededRandom } from '../support/memory/clock.ts';
import type { Replica, Stack } from '../support/stack.ts';
import { liveJobs, ownedJobs } from '../support/stack-control.ts';

export type Attack =
  /** SIGKILL to a replica that owns shards with live jobs. */
  | 'kill'
  /** SIGKILL to a replica at any moment: starting, joining, claiming. */
  | 'kill early'
  /** SIGKILL to both at once. */
  | 'kill both'
  /** SIGSTOP to an owner with live jobs; SIGCONT when the other replica has claimed one of its shards. */
  | 'zombie'
  /** The same, and the replica that took over is killed when the zombie wakes. */
  | 'zombie and kill';

export interface Hits {
  kills: number;
  /** Kills of a replica whose shards had live jobs at that moment. */
  killsInFlight: number;
  zombies: number;
  /** Zombies whose shards had live jobs when they were frozen. */
  zombiesInFlight: number;
  /** Zombies that found out by themselves that a shard was lost. */
  zombiesFenced: number;
}

/** From a replica's being at work to the signal, and from the takeover to the zombie's awakening, ms at most. */
const STRIKE_MS = 1_500;
const EARLY_MS = 2_500;
const WAKE_MS = 700;
const PATIENCE = { deadlineMs: 45_000 };

export class Nemesis {
  readonly hits: Hits = { kills: 0, killsInFlight: 0, zombies: 0, zombiesInFlight: 0, zombiesFenced: 0 };
  readonly #stack: Stack;
  readonly #random: SeededRandom;
  readonly #killed = new Set<Replica>();
  readonly #running: Replica[] = [];
  readonly #unasked = Promise.withResolvers<never>();

  constructor(stack: Stack, random: SeededRandom) {
    this.#stack = stack;
    this.#random = random;
    this.#unasked.promise.catch(() => undefined);
  }

  get running(): readonly Replica[] {
    return this.#running;
  }

  /** Starts a replica; one that ends without having been killed fails the next attack. */
  async start(): Promise<Replica> {
    const replica = await this.#stack.startReplica();
    this.#running.push(replica);
    void replica.process.exited.then(({ code, signal }) => {
      if (this.#killed.has(replica)) return;
      const last = replica.lines.slice(-20).join('\n');
      this.#unasked.reject(new Error(`${replica.name} ended by itself (${signal ?? `code ${code}`}):\n${last}`));
    });
    return replica;
  }

  /** Rejects when a replica ended by itself. */
  async attack(attack: Attack): Promise<void> {
    await Promise.race([this.#attack(attack), this.#unasked.promise]);
  }

  async #attack(attack: Attack): Promise<void> {
    switch (attack) {
      case 'kill early':
        await sleep(this.#random.below(EARLY_MS));
        return this.#kill([this.#pick()]);
      case 'kill':
        return this.#kill([await this.#busy()]);
      case 'kill both':
        await this.#busy();
        return this.#kill([...this.#running]);
      case 'zombie':
      case 'zombie and kill':
        return this.#zombie(attack === 'zombie and kill');
    }
  }

  async #kill(victims: readonly Replica[]): Promise<void> {
    for (const victim of victims) {
      this.#killed.add(victim);
      this.#running.splice(this.#running.indexOf(victim), 1);
      victim.process.kill('SIGKILL');
    }
    await Promise.all(victims.map(({ process }) => process.exited));
    for (const victim of victims) {
      this.hits.kills++;
      if (liveJobs(victim) > 0) this.hits.killsInFlight++;
    }
    await Promise.all(victims.map(() => this.start()));
  }

  async #zombie(kill: boolean): Promise<void> {
    const victim = await this.#busy();
    victim.process.kill('SIGSTOP');
    const from = new Map(this.#running.map((replica) => [replica, replica.lines.length]));
    const owned = ownedJobs(victim);
    this.hits.zombies++;
    if (liveJobs(victim) > 0) this.hits.zombiesInFlight++;
    const heirs = this.#running.filter((replica) => replica !== victim);
    const takenFrom = (line: Readonly<Record<string, unknown>>) => owned.has(Number(line.shard));
    const heir = await Promise.any(
      heirs.map(async (replica) => {
        await replica.logged('owns the shard', { from: from.get(replica) ?? 0, where: takenFrom });
        return replica;
      }),
    );
    await sleep(this.#random.below(WAKE_MS));
    victim.process.kill('SIGCONT');
    if (kill) await this.#kill([heir]);
    const noticed = await Promise.any([
      victim.logged('lost the shard; claiming it again once the group answers', { from: from.get(victim) ?? 0 }).then(() => true),
      victim.logged('joined the group', { from: from.get(victim) ?? 0 }).then(() => false),
    ]);
    if (noticed) this.hits.zombiesFenced++;
  }

  #pick(): Replica {
    return this.#running[this.#random.below(this.#running.length)] as Replica;
  }

  /** A random replica that has live jobs, some random time later. */
  async #busy(): Promise<Replica> {
    const busy = () => this.#running.filter((replica) => liveJobs(replica) > 0);
    await eventually('both replicas have work', () => busy().length === this.#running.length, PATIENCE).catch((error) => {
      const logs = this.#running.map(({ name, lines }) => `${name}:\n${lines.slice(-15).join('\n')}`);
      throw new Error(`${error.message}\n${logs.join('\n')}`);
    });
    await sleep(this.#random.below(STRIKE_MS));
    const candidates = busy();
    return candidates[this.#random.below(candidates.length)] ?? this.#pick();
  }
}

/** `kills` times a replica is killed, `zombies` times one is frozen, in an order drawn from the seed. */
export function plan(random: SeededRandom): Attack[] {
  const attacks: Attack[] = [
    ...Array<Attack>(11).fill('kill'),
    ...Array<Attack>(4).fill('kill early'),
    ...Array<Attack>(3).fill('kill both'),
    ...Array<Attack>(4).fill('zombie'),
    ...Array<Attack>(2).fill('zombie and kill'),
  ];
  for (let last = attacks.length - 1; last > 0; last--) {
    const other = random.below(last + 1);
    [attacks[last], attacks[other]] = [attacks[other] as Attack, attacks[last] as Attack];
  }
  return attacks;
}
