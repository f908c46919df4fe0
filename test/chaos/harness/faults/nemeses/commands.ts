/** Commands of an operator, run by the real command line, with crashes of replicas around them. */
import { fileURLToPath } from 'node:url';
import { spawnKept } from '../../../../../dev/process/kept.ts';
import type { Command } from '../../../../../src/core/journal/control.ts';
import type { SeededRandom } from '../../../../support/memory/clock.ts';
import { liveJobKeys } from '../../../judge/judge.ts';
import { STALL_BOUND_MS } from '../../observe/observer.ts';
import type { PipelineRun } from '../../pipeline-run.ts';
import type { World } from '../../world.ts';
import type { Nemesis } from '../nemesis.ts';

const CLI = fileURLToPath(new URL('../../../../../src/cli/main.ts', import.meta.url));
/** Timeout of a command, s. Longer than the longest permitted stall, which is checked separately. */
const TIMEOUT_S = STALL_BOUND_MS / 1_000 + 30;
/** Maximum time from the start of a command to the crash, ms. */
const CRASH_MS = 1_500;
/** Maximum time for which a held pipeline is watched for violations, ms. */
const HELD_MS = 1_500;

/**
 * Pauses or drains one pipeline, kills a replica before and perhaps another after the acknowledgement, and resumes.
 * No job may begin between exit code 0 and the resume, and a drained pipeline may have no live job.
 */
export const held =
  (command: 'pause' | 'drain'): Nemesis =>
  async (world, random) => {
    const { fleet, pipelines } = world;
    // Prefers the first pipeline, because reviews have the most failures.
    const run = pipelines[Math.max(0, random.below(pipelines.length + 2) - 2)] as PipelineRun;
    await world.atLeast(2);
    await fleet.someBusy(random);
    const hit = world.inFlight;
    try {
      await Promise.all([give(world, command, run), crash(world, random)]);
      const sinceMs = Date.now();
      const before = await liveJobs(world, run);
      if (command === 'drain' && before.length > 0)
        throw new Error(`drained, but live in the journal: ${before.join(' ')}`);
      if (random.below(2) === 0) await crash(world, random);
      await world.sleep(random.below(HELD_MS));
      const begun = (await liveJobs(world, run)).filter((key) => !before.includes(key));
      begun.push(...(await submittedSince(world, run, sinceMs)));
      if (begun.length > 0) throw new Error(`begun after a ${command}: ${begun.join(' ')}`);
    } finally {
      world.signal.throwIfAborted();
      await give(world, 'resume', run);
    }
    return { hit, note: run.kind };
  };

/** Sends SIGKILL to a random replica and starts another replica. */
async function crash(world: World, random: SeededRandom): Promise<void> {
  const { fleet } = world;
  await world.sleep(random.below(CRASH_MS));
  const victim = fleet.running[random.below(fleet.running.length)];
  if (victim !== undefined) await fleet.kill(victim);
  await fleet.joined(await fleet.start());
}

/** Runs a command line. @throws Error if its exit code is not 0 */
async function give(world: World, command: Command, { pipeline }: PipelineRun): Promise<void> {
  const lines: string[] = [];
  const { configFile } = world.stack;
  const args = [command, pipeline.name, '--config', configFile, '--timeout', `${TIMEOUT_S}s`];
  const line = await spawnKept({
    command: process.execPath,
    args: [CLI, ...args],
    env: { ...process.env, CHAOS_CLIENT: 'operator' },
    onLine: (text) => void lines.push(text),
  });
  const ended = () => line.kill('SIGKILL');
  world.signal.addEventListener('abort', ended, { once: true });
  const { code, signal } = await line.exited;
  world.signal.removeEventListener('abort', ended);
  if (code !== 0)
    throw new Error(`${command} ${pipeline.name} ended with ${signal ?? code}: ${lines.join(' ')}`);
}

const liveJobs = async ({ kafka }: World, { pipeline }: PipelineRun): Promise<string[]> =>
  liveJobKeys(await kafka.readAll(pipeline.topics.journal));

/** Returns the batches and imports that were created after `sinceMs` and uploaded. Empty batches have no effect. */
async function submittedSince(
  { sandbox }: World,
  { kind }: PipelineRun,
  sinceMs: number,
): Promise<string[]> {
  if (kind === 'lookup') return [];
  const all = kind === 'review' ? await sandbox.batches() : await sandbox.imports();
  return all
    .filter(({ created, uploaded }) => uploaded !== null && Date.parse(created) > sinceMs)
    .map((one) => JSON.stringify(one));
}
