/**
 * Kills and freezes the replicas of a stack at moments drawn from a seed, and keeps count of what was hit. A killed replica
 * is replaced at once. A frozen one sleeps until another replica owns one of its shards, and wakes as a zombie.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import type { SeededRandom } from '../support/memory/clock.ts';
import type { LogLine, Replica, Stack } from '../support/stack/stack.ts';
import { liveJobs, ownedShards, shardsIn, someOfOne } from '../support/stack/stack-control.ts';

export type Attack =
  /** SIGKILL to a replica that owns shards with live jobs. */
  | 'kill'
  /** SIGKILL to a replica at any moment: starting, joining, claiming. */
  | 'kill early'
  /** SIGKILL to both at once. */
  | 'kill both'
  /** SIGSTOP to an owner with live jobs; SIGCONT when the other replica has claimed one of its shards. */
  | 'zombie'
  /** The same, but it wakes while the other replica is claiming, and writes what was overdue. */
  | 'zombie at the claim'
  /** The same, but the other replica is frozen in the middle of its claim, and the zombie works on as if the shards were its own. */
  | 'zombie and slow heir'
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

/** From a replica's being at work to the signal, ms at most. */
const STRIKE_MS = 1_500;
const EARLY_MS = 2_500;
/** From the takeover, or from the join that begins it, to the zombie's awakening, ms at most. */
const WAKE_MS = 700;
const WAKE_AT_CLAIM_MS = 100;
/** From the join to the heir's freezing, ms at most: a claim fences some 50 ms after the join. */
const FREEZE_IN_CLAIM_MS = 50;
/**
 * Time for which the zombie works while its heir is frozen, in ms; shorter than the heir's session.
 */
const USURP_MS = { least: 500, most: 1_000 };
const LOST = 'lost the shard; claiming it again once the group answers';
/** Far longer than an attack takes, session timeout and claims included. */
const ATTACK_MS = 60_000;

export class ReplicaAttacker {
  readonly hits: Hits = {
    kills: 0,
    killsInFlight: 0,
    zombies: 0,
    zombiesInFlight: 0,
    zombiesFenced: 0,
  };
  readonly #stack: Stack;
  readonly #random: SeededRandom;
  readonly #killed = new Set<Replica>();
  readonly #running: Replica[] = [];
  readonly #unasked = Promise.withResolvers<never>();
  readonly #over = new AbortController();

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
    this.#over.signal.throwIfAborted();
    const replica = await this.#stack.startReplica();
    this.#running.push(replica);
    void replica.process.exited.then(({ code, signal }) => {
      if (this.#killed.has(replica)) return;
      const last = replica.lines.slice(-20).join('\n');
      this.#unasked.reject(
        new Error(`${replica.name} ended by itself (${signal ?? `code ${code}`}):\n${last}`),
      );
    });
    return replica;
  }

  /** Rejects when a replica ended by itself, or is no longer at work; nothing may follow then. */
  async attack(attack: Attack): Promise<void> {
    const attacking = this.#attack(attack);
    const deadline = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => deadline.reject(this.#stalled(`"${attack}" took longer than ${ATTACK_MS} ms`)),
      ATTACK_MS,
    );
    try {
      await Promise.race([attacking, this.#unasked.promise, deadline.promise]);
    } catch (error) {
      this.#over.abort(error);
      await Promise.allSettled(this.#running.map(({ process }) => process.stop(0)));
      await attacking.catch(() => undefined);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #attack(attack: Attack): Promise<void> {
    switch (attack) {
      case 'kill early':
        await this.#sleep(EARLY_MS);
        return this.#kill([this.#pick()]);
      case 'kill':
        return this.#kill([await this.#busy()]);
      case 'kill both':
        await this.#busy();
        return this.#kill([...this.#running]);
      case 'zombie':
        return this.#zombie('owns the shard', WAKE_MS);
      case 'zombie at the claim':
        return this.#zombie('joined the group', WAKE_AT_CLAIM_MS);
      case 'zombie and slow heir':
        return this.#zombie('joined the group', FREEZE_IN_CLAIM_MS, 'freeze');
      case 'zombie and kill':
        return this.#zombie('owns the shard', WAKE_MS, 'kill');
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

  /** @param sign what the heir logs of the shards that it takes over */
  async #zombie(
    sign: 'owns the shard' | 'joined the group',
    wakeMs: number,
    toHeir?: 'kill' | 'freeze',
  ): Promise<void> {
    const victim = await this.#busy();
    const from = new Map(this.#running.map((replica) => [replica, replica.lines.length]));
    victim.process.kill('SIGSTOP');
    const owned = someOfOne(ownedShards(victim, this.#running).keys(), this.#random);
    this.hits.zombies++;
    if (liveJobs(victim) > 0) this.hits.zombiesInFlight++;
    const taken = (line: LogLine) => shardsIn(line).some((one) => owned.has(one));
    const heir = await Promise.any(
      this.#running
        .filter((replica) => replica !== victim)
        .map(async (replica) => {
          await replica.logged(sign, { from: from.get(replica) ?? 0, where: taken });
          return replica;
        }),
    );
    await this.#sleep(wakeMs);
    const woken = victim.lines.length;
    if (toHeir === 'freeze') heir.process.kill('SIGSTOP');
    victim.process.kill('SIGCONT');
    if (toHeir === 'kill') await this.#kill([heir]);
    if (toHeir === 'freeze') {
      await sleep(USURP_MS.least + this.#random.below(USURP_MS.most - USURP_MS.least), undefined, {
        signal: this.#over.signal,
      });
      heir.process.kill('SIGCONT');
    }
    const fenced = await Promise.any([
      victim.logged(LOST, { from: woken }).then(() => true),
      victim.logged('joined the group', { from: woken }).then(() => false),
    ]);
    if (fenced) this.hits.zombiesFenced++;
  }

  #pick(): Replica {
    return this.#running[this.#random.below(this.#running.length)] as Replica;
  }

  /** A random replica that has live jobs, some random time later. */
  async #busy(): Promise<Replica> {
    const busy = () => this.#running.filter((replica) => liveJobs(replica, this.#running) > 0);
    const ready = () => this.#over.signal.aborted || busy().length === this.#running.length;
    await eventually('both replicas have work', ready, { deadlineMs: 2 * ATTACK_MS });
    await this.#sleep(STRIKE_MS);
    const candidates = busy();
    return candidates[this.#random.below(candidates.length)] ?? this.#pick();
  }

  #stalled(what: string): Error {
    return new Error(
      [
        what,
        ...this.#running.map(({ name, lines }) => `${name}:\n${lines.slice(-15).join('\n')}`),
      ].join('\n'),
    );
  }

  async #sleep(belowMs: number): Promise<void> {
    await sleep(this.#random.below(belowMs), undefined, { signal: this.#over.signal });
  }
}

/** 23 kills and 15 zombies, in an order drawn from the seed. */
export function plan(random: SeededRandom): Attack[] {
  const attacks: Attack[] = [
    ...Array<Attack>(11).fill('kill'),
    ...Array<Attack>(4).fill('kill early'),
    ...Array<Attack>(3).fill('kill both'),
    ...Array<Attack>(3).fill('zombie'),
    ...Array<Attack>(3).fill('zombie at the claim'),
    ...Array<Attack>(7).fill('zombie and slow heir'),
    ...Array<Attack>(2).fill('zombie and kill'),
  ];
  for (let last = attacks.length - 1; last > 0; last--) {
    const other = random.below(last + 1);
    [attacks[last], attacks[other]] = [attacks[other] as Attack, attacks[last] as Attack];
  }
  return attacks;
}
