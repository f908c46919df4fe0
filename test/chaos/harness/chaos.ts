/** One run: a world, a schedule of faults, the drain, the verdict, the report. docs/internals/testing.md describes it. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { keepDirectory } from '../../../dev/process/kept.ts';
import { eventually } from '../../support/eventually.ts';
import { SeededRandom } from '../../support/memory/clock.ts';
import { Schedule } from './faults/schedule.ts';
import { STALL_BOUND_MS } from './observe/observer.ts';
import { isSettled, type Trial, verdictOn } from './observe/verdict.ts';
import type { ChaosOptions } from './options.ts';
import { type Report, reportOn } from './report.ts';
import { World } from './world.ts';

const REPLICAS = 2;
/** Until gauges show that all is settled, ms. */
const GAUGES_MS = 10_000;
/** Until a broker that was frozen or killed has what was written meanwhile, ms. */
const REPLICAS_MS = 30_000;

/** @throws when the world cannot be started, or the signal's reason. What the connector does wrong is in the report. */
export async function runChaos(options: ChaosOptions): Promise<Report> {
  const directory = await keepDirectory(path.join(tmpdir(), `chaos-${randomUUID()}`));
  try {
    const world = await World.start({
      ...options,
      directory: directory.path,
    });
    try {
      return await inWorld(world, options);
    } catch (error) {
      options.signal.throwIfAborted();
      throw error;
    } finally {
      if (options.logs !== undefined) writeLogs(options.logs, world);
      await world.stop();
    }
  } finally {
    await directory.remove();
  }
}

function writeLogs(folder: string, { stack }: World): void {
  mkdirSync(folder, { recursive: true });
  for (const [index, { lines }] of stack.replicas.entries()) {
    writeFileSync(
      path.join(folder, `chaos-${index + 1}.log`),
      lines.map((line) => `${line}\n`).join(''),
    );
  }
}

async function inWorld(world: World, options: ChaosOptions): Promise<Report> {
  const { fleet, pipelines, observer, signal } = world;
  const startedMs = performance.now();
  await world.atLeast(REPLICAS);
  for (const { producer } of pipelines) producer.start();
  observer.start();
  fleet.watch();
  options.onProgress(`${REPLICAS} replicas are at work; faults come for ${options.minutes} min`);

  const schedule = new Schedule(
    world,
    new SeededRandom(options.seed),
    options.minutes,
    options.faults,
    (name, { hit, note }, tookMs) => {
      const atS = ((performance.now() - startedMs) / 1_000).toFixed(0).padStart(4);
      const about = note === undefined ? '' : ` (${note})`;
      options.onProgress(
        `${atS} s  ${name}${about}: ${hit ? 'hit' : 'missed'}, over after ${(tookMs / 1_000).toFixed(1)} s`,
      );
    },
  );
  await schedule.run();
  const violations = await world.disappointments();

  await Promise.all(pipelines.map(({ producer }) => producer.stop()));
  await world.sandbox.setFaults([]);
  const drainStartMs = performance.now();
  const { kafka, sandbox } = world;
  const trial: Trial = {
    kafka,
    sandbox,
    pipelines,
    logged: (message) => fleet.logged(message),
  };
  const settled = async () => {
    signal.throwIfAborted();
    return await isSettled(trial);
  };
  await eventually('everything is settled', settled, {
    deadlineMs: STALL_BOUND_MS,
    everyMs: 250,
  }).catch(async ({ message }: Error) => {
    violations.push(`after the last fault: ${message} (${await observer.obstacles()})`);
  });
  const drainMs = performance.now() - drainStartMs;
  signal.throwIfAborted();

  // Gauges are a second old at most; counters are not.
  const idle = async () => {
    await fleet.lookAtAll();
    return fleet.lives.every(
      ({ ended, counters }) => ended !== 'running' || counters?.inFlight === 0,
    );
  };
  await eventually('no replica has items in flight', idle, {
    deadlineMs: GAUGES_MS,
    everyMs: 250,
  }).catch((error: Error) => violations.push(`at the end: ${error.message}`));
  // An orderly end, so that nothing more can come after the last look.
  await Promise.all([...fleet.running].map((replica) => fleet.stop(replica)));
  await world.quiet();
  await eventually('every replica of a partition is in sync', () => world.isReplicated(), {
    deadlineMs: REPLICAS_MS,
    everyMs: 250,
  }).catch((error: Error) => violations.push(`at the end: ${error.message}`));
  const verdicts = await Promise.all(pipelines.map((run) => verdictOn(trial, run)));
  return reportOn({
    world,
    schedule,
    verdicts,
    drainMs,
    violations,
    options,
    tookMs: performance.now() - startedMs,
  });
}
