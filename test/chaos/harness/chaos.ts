/** One run of chaos: world, schedule of faults, drain, verdict and report (docs/internals/testing.md). */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { keepDirectory } from '../../../dev/process/kept.ts';
import { eventually } from '../../support/eventually.ts';
import { SeededRandom } from '../../support/memory/clock.ts';
import { judgeQuota } from '../judge/judge-quota.ts';
import { QUOTA_SHARDS } from '../load/pipelines.ts';
import { Schedule } from './faults/schedule.ts';
import { STALL_BOUND_MS } from './observe/observer.ts';
import { isSettled, type Trial, verdictOn } from './observe/verdict.ts';
import type { ChaosOptions } from './options.ts';
import { type Report, reportOn } from './report.ts';
import { World } from './world.ts';

const REPLICAS = 2;
const QUOTA_REPLICAS = 3;
/** Maximum time after the producers stop until records that wait for the quota are settled, ms. */
const QUOTA_DRAIN_MS = 180_000;
/** Time for gauges to show that everything is settled, ms. */
const GAUGES_MS = 10_000;
/** Time for a broker that was frozen or killed to catch up with its replicas, ms. */
const REPLICAS_MS = 30_000;

/**
 * Runs chaos once. The report contains the connector's violations.
 * @throws Error if the world cannot be started, or the signal's reason
 */
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
  const replicas = options.quota === undefined ? REPLICAS : QUOTA_REPLICAS;
  await world.atLeast(replicas);
  for (const { producer } of pipelines) producer.start();
  observer.start();
  fleet.watch();
  options.onProgress(
    `${replicas} replicas are running; injecting faults for ${options.minutes} min`,
  );

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
  const hadWorkMs = Date.now();
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
    deadlineMs: STALL_BOUND_MS + (options.quota === undefined ? 0 : QUOTA_DRAIN_MS),
    everyMs: 250,
  }).catch(async ({ message }: Error) => {
    violations.push(`after the last fault: ${message} (${await observer.obstacles()})`);
  });
  const drainMs = performance.now() - drainStartMs;
  signal.throwIfAborted();

  // Samples again, because the last sample of a gauge may precede the end of the work.
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
  // Stops the replicas in order, so that no record can follow the last read.
  await Promise.all([...fleet.running].map((replica) => fleet.stop(replica)));
  await world.quiet();
  await eventually('every replica of a partition is in sync', () => world.isReplicated(), {
    deadlineMs: REPLICAS_MS,
    everyMs: 250,
  }).catch((error: Error) => violations.push(`at the end: ${error.message}`));
  const verdicts = await Promise.all(pipelines.map((run) => verdictOn(trial, run)));
  const { quota } = options;
  const spent =
    quota && judgeQuota(await sandbox.batches(), { quota, shards: QUOTA_SHARDS, hadWorkMs });
  if (spent) violations.push(...spent.complaints);
  return reportOn({
    world,
    schedule,
    verdicts,
    drainMs,
    violations,
    options,
    notes: spent ? [spent.figures] : [],
    tookMs: performance.now() - startedMs,
  });
}
