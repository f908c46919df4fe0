/**
 * Instances of a history, supervised as in any deployment: a process that has ended is started again, and a process
 * whose liveness probe fails is killed first.
 */
import type { HealthReporter, Logger } from '../../../../src/core/ports/telemetry.ts';
import type { PipelinePorts } from '../../../../src/pipeline/context/pipeline-context.ts';
import { Health } from '../../../../src/telemetry/health.ts';
import type { Instance, World } from '../world.ts';
import { Violation } from './judges/violation.ts';
import type { PlacedStrike } from './script.ts';

export class Cast {
  /** Number of ended processes by reason. */
  readonly ends = new Map<string, number>();
  readonly #world: () => World;
  readonly #struck: readonly PlacedStrike[];
  readonly #note: (line: string) => void;
  readonly #healths: Health[] = [];
  readonly #stopped = new Set<Instance>();
  readonly #stopping: Promise<void>[] = [];

  constructor(world: () => World, struck: readonly PlacedStrike[], note: (line: string) => void) {
    this.#world = world;
    this.#struck = struck;
    this.#note = note;
  }

  /** Gives a new instance a real Health in addition to the world's recorder. */
  withHealth(ports: PipelinePorts): PipelinePorts {
    const real = new Health(() => ports.clock.monotonic());
    this.#healths.push(real);
    return { ...ports, health: real satisfies HealthReporter };
  }

  /** Instances whose process runs. Frozen ones are not included. */
  get running(): Instance[] {
    return this.#world().instances.filter(
      (instance) => instance.process.state === 'running' && !this.#stopped.has(instance),
    );
  }

  /** Instances that were neither killed nor stopped. */
  get alive(): Instance[] {
    return this.#world().instances.filter(
      (instance) => instance.process.state !== 'killed' && !this.#stopped.has(instance),
    );
  }

  health(instance: Instance): Health {
    return this.#healths[this.#world().instances.indexOf(instance)] as Health;
  }

  start(): void {
    const { process } = this.#world().start();
    this.#note(`${process.name} starts`);
  }

  /** Sends SIGTERM, and SIGKILL 30 seconds later. */
  stop(instance: Instance): void {
    this.#stopped.add(instance);
    this.#note(`${instance.process.name} is stopping`);
    this.#stopping.push(instance.stop().catch(() => undefined));
    this.#world().clock.after(30_000, () => {
      if (instance.group.state !== 'stopped') instance.process.kill();
    });
  }

  /**
   * Periodic duties of a deployment.
   * @throws Violation if a process ended or is stuck without a cause
   */
  keep(): void {
    for (const instance of this.alive) {
      assertAgeTold(instance);
      assertBalanced(instance);
      const why = this.#endOf(instance);
      if (why === undefined) continue;
      this.#count(why);
      this.#note(`${instance.process.name} ended (${why})`);
      instance.process.kill();
    }
    if (this.running.length === 0) this.start();
  }

  #endOf(instance: Instance): string | undefined {
    const { refused, startFailure, process } = instance;
    if (refused !== undefined) {
      if (
        /Kafka does not allow this connector to write/.test(refused.message) &&
        this.#hit(process.name, 'rejected')
      )
        return 'refused';
      throw new Violation('refused', refused.message, { cause: refused });
    }
    if (startFailure !== undefined) {
      if (/scripted/.test(String(startFailure))) return 'could not start';
      throw new Violation('error', `${process.name} did not start: ${String(startFailure)}`, {
        cause: startFailure,
      });
    }
    if (process.stalled || this.health(instance).liveness().ok) return undefined;
    if (this.hangs(instance)) return 'not live';
    const { stuck } = this.health(instance).liveness();
    throw new Violation('stuck', `${process.name}: ${stuck.map(({ shard }) => shard).join(', ')}`);
  }

  /** True if a request of this instance never got a response. The instance may still hold resources for that request. */
  hangs({ process }: Instance): boolean {
    return this.#hit(process.name, 'silent');
  }

  #hit(client: string, fate: 'rejected' | 'silent'): boolean {
    return this.#struck.some(
      ({ place, strike }) =>
        strike.kind === 'commit' &&
        (strike.fate === fate || (fate === 'rejected' && strike.fate === 'too-large')) &&
        place.startsWith(`commit/${client}/`),
    );
  }

  #count(why: string): void {
    this.ends.set(why, (this.ends.get(why) ?? 0) + 1);
  }
}

/** Copies every line of a log to the trace. */
export function tracedLogger(name: string, real: Logger, note: (line: string) => void): Logger {
  const write = (level: 'info' | 'warn' | 'error') => (fields: object, message: string) => {
    real[level](fields, message);
    note(`${name} ${level}: ${message} ${JSON.stringify(fields)}`);
  };
  return {
    debug: (fields, message) => real.debug(fields, message),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => tracedLogger(name, real.child(fields), note),
  };
}

/** Checks that the two gauges agree about whether records are in flight. Both come from the same report. */
function assertAgeTold(instance: Instance): void {
  const inFlight = instance.gauge('items_in_flight') ?? 0;
  const oldest = instance.gauge('oldest_unsettled_timestamp_seconds');
  if (inFlight > 0 !== (oldest !== undefined))
    throw new Violation(
      'age',
      `${instance.process.name} has ${inFlight} records in flight, but reports ${oldest} as the oldest`,
    );
}

/** Checks that every consumed record is published, skipped, released or in flight. */
function assertBalanced(instance: Instance): void {
  const items = instance.gauge('balance_items') ?? 0;
  if (items !== 0)
    throw new Violation('balance', `the balance of ${instance.process.name} is ${items}`);
}
