/** Replicas of the connector: starts, stops, kills and freezes them, and samples them every two seconds. */
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../../dev/kafka/ports.ts';
import { eventually } from '../../support/eventually.ts';
import type { SeededRandom } from '../../support/memory/clock.ts';
import { residentMiBOf } from '../../support/process-time.ts';
import { type LogLine, parseLogLine, type Replica, type Stack } from '../../support/stack/stack.ts';
import {
  liveJobs,
  ownedShards,
  type ShardName,
  someOfOne,
} from '../../support/stack/stack-control.ts';
import { Prober } from './observe/prober.ts';

/** Maximum time of an orderly stop, ms. The connector's limit is 5 s, but the machine may be loaded. */
const STOP_MS = 30_000;
const SAMPLE_MS = 2_000;
const SCRAPE_MS = 2_000;
/** Maximum time for enough replicas to get live jobs, ms. */
const BUSY_MS = 60_000;

export interface Counters {
  readonly decided: number;
  readonly deadLettered: number;
  readonly inFlight: number;
  /** Number of consumed events by pipeline. */
  readonly consumedBy: ReadonlyMap<string, number>;
  /** Pipelines whose balance in the metrics is not 0. */
  readonly uneven: readonly string[];
}

export interface Life {
  readonly name: string;
  /** Peak of the resident memory, bytes. */
  peakBytes: number;
  counters: Counters | undefined;
  /** `stopped` if the last counters are final, because they were read after the last work or the replica stopped in order. */
  ended: 'running' | 'stopped' | 'killed';
}

/** Slot of a replica. The next replica in it has the same client id and port. */
interface Slot {
  readonly client: string;
  readonly port: number;
  /** File with the shift of the replica's wall clock, ms. */
  readonly clockFile: string;
  /** undefined during a start. */
  replica: Replica | undefined;
}

export class Fleet {
  readonly running: Replica[] = [];
  readonly lives: Life[] = [];
  readonly violations: string[] = [];
  samples = 0;
  readonly #stack: Stack;
  readonly #slots: Slot[] = [];
  readonly #slotOf = new Map<Replica, Slot>();
  #started = 0;
  readonly #lifeOf = new Map<Replica, Life>();
  readonly #expected = new Set<Replica>();
  readonly #frozen = new Set<Replica>();
  readonly #away = new Set<Replica>();
  readonly #over = new AbortController();
  readonly prober = new Prober(this.#over.signal);
  /** Number of stops, freezes and resumes by replica. */
  readonly #interruptions = new Map<Replica, number>();
  #sampling: Promise<void> | undefined;

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  /** Starts sampling the replicas. */
  watch(): void {
    this.#sampling = this.#sample();
  }

  async start(): Promise<Replica> {
    const name = `chaos-${++this.#started}`;
    const slot = await this.#freeSlot();
    const { client, port, clockFile } = slot;
    slot.replica = undefined;
    writeFileSync(clockFile, '0');
    const replica = await this.#stack.startReplica({
      CHAOS_CLIENT: client,
      PORT: String(port),
      STEPPED_CLOCK: clockFile,
    });
    slot.replica = replica;
    this.#slotOf.set(replica, slot);
    const life: Life = { name, peakBytes: 0, counters: undefined, ended: 'running' };
    this.lives.push(life);
    this.#lifeOf.set(replica, life);
    this.running.push(replica);
    const subject = {
      name,
      url: () => livezOf(replica),
      mustAnswer: () => this.running.includes(replica) && !this.#frozen.has(replica),
      interruptions: () => this.#interruptions.get(replica) ?? 0,
      waitedMs: () => this.starvedMs(replica),
    };
    this.prober.watch(subject, () => replica.process.exit !== undefined);
    void replica.process.exited.then(({ code, signal }) => {
      if (this.#expected.has(replica)) return;
      this.#forget(replica);
      life.ended = 'killed';
      this.violations.push(
        `${name} ended unexpectedly (${signal ?? `code ${code}`}): ${lastWords(replica.lines)}`,
      );
    });
    return replica;
  }

  /** Returns the first slot whose process has ended, or else a new slot. A restarted container also keeps its place. */
  async #freeSlot(): Promise<Slot> {
    const free = this.#slots.find(({ replica }) => replica?.process.exit !== undefined);
    if (free !== undefined) return free;
    const [port] = (await freePorts(1)) as [number];
    const number = this.#slots.length + 1;
    const clockFile = path.join(path.dirname(this.#stack.configFile), `clock-${number}`);
    const slot = { client: `chaos-client-${number}`, port, clockFile, replica: undefined };
    this.#slots.push(slot);
    return slot;
  }

  /** Shifts the wall clock of a replica. */
  stepClock(replica: Replica, byMs: number): void {
    writeFileSync((this.#slotOf.get(replica) as Slot).clockFile, String(byMs));
  }

  /** Returns the client id of a replica in its groups. */
  memberOf(replica: Replica): string {
    const { client, port } = this.#slotOf.get(replica) as Slot;
    return `${client}-${hostname()}-${port}`;
  }

  /** Client ids of the replica's connections. */
  clientsOf(replica: Replica): string[] {
    return [(this.#slotOf.get(replica) as Slot).client, this.memberOf(replica)];
  }

  /** True if a connection with this client id is the replica's. */
  isOf(replica: Replica, clientId: string | undefined): boolean {
    return clientId !== undefined && this.clientsOf(replica).includes(clientId);
  }

  byClient(clientId: string): Replica | undefined {
    return this.running.find((replica) => this.isOf(replica, clientId));
  }

  /** Resolves when the replica has joined the group of each pipeline. @param from index of the first log line to consider */
  async joined(replica: Replica, from = 0): Promise<void> {
    await Promise.all(
      this.#stack.pipelines.map(({ name }) =>
        replica.logged('joined the group', { from, where: ({ pipeline }) => pipeline === name }),
      ),
    );
  }

  async kill(replica: Replica): Promise<void> {
    this.#expected.add(replica);
    this.#forget(replica);
    (this.#lifeOf.get(replica) as Life).ended = 'killed';
    replica.process.kill('SIGKILL');
    await replica.process.exited;
  }

  /** Sends SIGTERM. An exit code other than 0 is a violation. */
  async stop(replica: Replica): Promise<void> {
    this.#expected.add(replica);
    this.#forget(replica);
    const life = this.#lifeOf.get(replica) as Life;
    await this.#look(replica, life).catch(() => undefined);
    const { code, signal } = await replica.process.stop(STOP_MS);
    life.ended = 'stopped';
    if (code !== 0)
      this.violations.push(
        `${life.name} did not stop cleanly on SIGTERM (${signal ?? `code ${code}`})`,
      );
  }

  freeze(replica: Replica): void {
    this.#frozen.add(replica);
    this.#interrupted(replica);
    replica.process.kill('SIGSTOP');
  }

  thaw(replica: Replica): void {
    this.#frozen.delete(replica);
    this.#interrupted(replica);
    replica.process.kill('SIGCONT');
  }

  #interrupted(replica: Replica): void {
    this.#interruptions.set(replica, (this.#interruptions.get(replica) ?? 0) + 1);
  }

  /** Excuses the replica from being a member until `until` settles. */
  excuse(replica: Replica, until: Promise<unknown>): void {
    this.#away.add(replica);
    const back = () => this.#away.delete(replica);
    until.then(back, back);
  }

  /** Replicas that must be members of every group. */
  get members(): Replica[] {
    return this.running.filter((replica) => !this.#away.has(replica));
  }

  get away(): Replica[] {
    return [...this.#away];
  }

  /** Number of events of a pipeline that a replica had consumed at the last sample. */
  consumed(replica: Replica, pipeline: string): number {
    return this.#lifeOf.get(replica)?.counters?.consumedBy.get(pipeline) ?? 0;
  }

  /** Time since a replica's start in which it was runnable but had no processor, ms. */
  starvedMs(replica: Replica): number {
    return waitedMs(replica.process.pid);
  }

  busy(): Replica[] {
    return this.running.filter((replica) => this.liveJobs(replica) > 0);
  }

  /**
   * Returns the number of live jobs in the replica's own shards. The log of a replica that is cut off may also name
   * lost shards.
   */
  liveJobs(replica: Replica): number {
    return liveJobs(replica, this.running);
  }

  /** Returns the replica's own shards of one random pipeline. */
  someShards(replica: Replica, random: SeededRandom): ReadonlySet<ShardName> {
    return someOfOne(ownedShards(replica, this.running).keys(), random);
  }

  /** Returns a random replica with live jobs, once at least `least` replicas have some. */
  async someBusy(random: SeededRandom, least = 1): Promise<Replica> {
    const enough = () =>
      this.#over.signal.aborted || this.busy().length >= Math.min(least, this.running.length);
    await eventually(`${least} replicas have live jobs`, enough, { deadlineMs: BUSY_MS });
    const busy = this.busy();
    return busy[random.below(busy.length)] as Replica;
  }

  /** Log lines with this message of all replicas, including replicas that have ended. */
  logged(message: string): LogLine[] {
    const text = JSON.stringify(message);
    return this.#stack.replicas
      .flatMap(({ lines }) => lines.filter((line) => line.includes(text)).map(parseLogLine))
      .filter((line) => line !== undefined);
  }

  /** Samples all running replicas. */
  async lookAtAll(): Promise<void> {
    await Promise.all(
      this.running.map((replica) => this.#look(replica, this.#lifeOf.get(replica) as Life)),
    );
  }

  async close(): Promise<void> {
    this.#over.abort();
    await Promise.all([this.#sampling, this.prober.close()]);
    for (const replica of this.running) this.#expected.add(replica);
    await Promise.all(this.running.map(({ process: kept }) => kept.stop(0)));
  }

  #forget(replica: Replica): void {
    const at = this.running.indexOf(replica);
    if (at >= 0) this.running.splice(at, 1);
  }

  async #sample(): Promise<void> {
    while (!this.#over.signal.aborted) {
      await Promise.all(
        this.running.map(async (replica) => {
          const life = this.#lifeOf.get(replica) as Life;
          life.peakBytes = Math.max(life.peakBytes, peakOf(replica.process.pid));
          // Ignores errors, because a replica that is starting, stopping or frozen does not respond.
          if (!this.#frozen.has(replica)) await this.#look(replica, life).catch(() => undefined);
        }),
      );
      await sleep(SAMPLE_MS, undefined, { signal: this.#over.signal }).catch(() => undefined);
    }
  }

  async #look(replica: Replica, life: Life): Promise<void> {
    const url = urlOf(replica);
    if (url === undefined) return;
    const answer = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(SCRAPE_MS) });
    const counters = readCounters(await answer.text());
    life.counters = counters;
    life.peakBytes = Math.max(life.peakBytes, peakOf(replica.process.pid));
    this.samples++;
    for (const line of counters.uneven)
      this.violations.push(`${life.name} is out of balance: ${line}`);
    const secret = await replica.secretServed();
    if (secret !== undefined) this.violations.push(`${life.name} serves ${secret}`);
  }
}

/** Returns undefined before the replica has logged its address. */
function urlOf(replica: Replica): string | undefined {
  const line = replica.lines.find((one) => one.includes('"metrics and health"'));
  const url = line === undefined ? undefined : parseLogLine(line)?.url;
  return url === undefined ? undefined : String(url);
}

function livezOf(replica: Replica): string | undefined {
  const url = urlOf(replica);
  return url === undefined ? undefined : `${url}/livez`;
}

export function readCounters(text: string): Counters {
  const lines = text.split('\n');
  const series = (name: string) =>
    lines.filter(
      (line) =>
        line.startsWith(`content_review_${name}{`) || line.startsWith(`content_review_${name} `),
    );
  const countIn = (line: string) => Number(line.split(' ').at(-1));
  const sum = (name: string) => series(name).reduce((total, line) => total + countIn(line), 0);
  const consumedBy = new Map<string, number>();
  for (const line of series('events_consumed_total')) {
    const name = /[{,]pipeline="([^"]*)"/.exec(line)?.[1] ?? '';
    consumedBy.set(name, (consumedBy.get(name) ?? 0) + countIn(line));
  }
  return {
    consumedBy,
    decided: sum('decisions_total'),
    deadLettered: sum('dead_lettered_total'),
    inFlight: sum('items_in_flight'),
    uneven: series('balance_items').filter((line) => countIn(line) !== 0),
  };
}

/** Returns the output after the last log line, such as an uncaught error, or the last three lines if there is none. */
function lastWords(lines: readonly string[]): string {
  const after = lines.slice(lines.findLastIndex((line) => line.startsWith('{"')) + 1);
  return (after.length > 0 ? after : lines.slice(-3)).join(' | ');
}

/** Returns the peak of a process's resident memory in bytes, or 0 if it has ended. */
function peakOf(pid: number): number {
  try {
    return (residentMiBOf(pid, 'VmHWM') || 0) * 1024 * 1024;
  } catch {
    return 0;
  }
}

/** Time in which a process's main thread was runnable but had no processor, ms. 0 if unknown, or if the process has ended. */
function waitedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
