/**
 * Rolling upgrade of a group under load from the released version to the working tree and back.
 * Replicas are killed or stopped one at a time. The verdict is the same as in the chaos tests.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Observer } from '../../chaos/harness/observe/observer.ts';
import { isSettled, type Trial, verdictOn } from '../../chaos/harness/observe/verdict.ts';
import { PipelineRun } from '../../chaos/harness/pipeline-run.ts';
import { REVIEW_RULES } from '../../chaos/load/hostile-events.ts';
import { RETURNED_HEADERS } from '../../chaos/load/hostile-parts.ts';
import { KINDS, type Kind, partitionsOf } from '../../chaos/load/pipelines.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { SeededRandom } from '../../support/memory/clock.ts';
import { Sandbox } from '../../support/stack/sandbox.ts';
import {
  type PipelineSetup,
  type Replica,
  type Stack,
  type StackPipeline,
  startStack,
} from '../../support/stack/stack.ts';
import { liveJobs, ownedShards } from '../../support/stack/stack-control.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type Build, releasedBuild, WORKING_TREE } from './builds.ts';

/** Shards per pipeline, at least one for each replica. */
const SHARDS = 2;
/** Records per second of each kind. */
const RATE = 60;
/** Limit in milliseconds for steps that take a second on an idle machine. */
const DEADLINE_MS = 60_000;

const directory = temporaryDirectory();
const kafka = await testKafka();

/** Returns options that both versions support. */
function setup(kind: Kind): PipelineSetup {
  return {
    partitions: partitionsOf(kind),
    pipeline: {
      name: kind,
      kind,
      journal: { partitions: SHARDS },
      batch: { maxRows: 100, maxAge: '300ms' },
      output: { headers: [...RETURNED_HEADERS] },
      review: { poll: '500ms', grace: '3s', attempts: 20 },
      kafka: { sessionTimeout: '1500ms' },
    },
  };
}

/** Two replicas that are replaced one at a time. */
class Roll {
  readonly #stack: Stack;
  readonly #running: { readonly build: Build; readonly replica: Replica }[] = [];

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  get replicas(): readonly Replica[] {
    return this.#running.map(({ replica }) => replica);
  }

  async start(build: Build): Promise<Replica> {
    const replica = await this.#stack.startReplica({}, build.connector);
    this.#running.push({ build, replica });
    await this.#atWork(build, replica);
    return replica;
  }

  /**
   * Replaces the replica that has run longest. @returns number of shards with live jobs that the new replica took
   * over
   */
  async replace(end: 'SIGKILL' | 'SIGTERM', build: Build): Promise<number> {
    const old = this.#running.shift();
    assert.ok(old !== undefined);
    const busy = () => liveJobs(old.replica, this.#stack.replicas) > 0;
    await eventually(`${old.build.name} has batches in flight`, busy, { deadlineMs: DEADLINE_MS });
    old.replica.process.kill(end);
    const { code } = await old.replica.process.exited;
    if (end === 'SIGTERM') assert.equal(code, 0, old.replica.lines.slice(-15).join('\n'));
    const stayed = this.replicas.map((replica) => ({ replica, from: replica.lines.length }));
    const replica = await this.start(build);
    // The remaining replica settles batches while the new replica runs.
    await Promise.all(stayed.map((one) => one.replica.logged('batch settled', { from: one.from })));
    return replica.lines.filter((line) => /"jobs":[1-9].*"msg":"owns the shard"/.test(line)).length;
  }

  /** Waits until a replica owns a shard of each pipeline and has settled batches. */
  async #atWork(build: Build, replica: Replica): Promise<void> {
    const owns = () =>
      new Set([...ownedShards(replica)].map(([name]) => name.split('/')[0])).size === KINDS.length;
    let ended = false;
    void replica.process.exited.then(() => {
      ended = true;
    });
    const working = Promise.all([
      eventually('the new replica owns a shard of each pipeline', () => ended || owns(), {
        deadlineMs: DEADLINE_MS,
      }),
      ...KINDS.map((pipeline) =>
        replica.logged('batch settled', { where: (line) => line.pipeline === pipeline }),
      ),
    ]);
    await working.catch(({ message }: Error) => {
      throw new Error(`${build.name}: ${message}\n${replica.lines.slice(-30).join('\n')}`);
    });
  }
}

test('during an upgrade and a rollback under load, every record gets exactly one terminal record', async (t) => {
  const released = releasedBuild(temporaryDirectory());
  t.diagnostic(`${released.name} → ${WORKING_TREE.name}`);
  const [first, ...beside] = KINDS.map(setup) as [PipelineSetup, ...PipelineSetup[]];
  const stack = await startStack(kafka, directory, {
    ...first,
    beside,
    config: { log: { level: 'debug' }, shutdown: { timeout: '20s' } },
    policy: {
      timing: { reviewTime: '600ms', importTime: '500ms', storageEventDelay: '100ms' },
      review: REVIEW_RULES,
      faults: [
        {
          operation: 'review',
          action: 'rows',
          missing: 2,
          duplicated: 2,
          shuffled: true,
          skip: 4,
          times: 20,
        },
        { operation: 'review', action: 'batch_error', skip: 30, times: 2 },
        { operation: 'ingest', action: 'import_failed', skip: 10, times: 2 },
      ],
    },
  });
  after(() => stack.stop());
  const sandbox = new Sandbox(stack.sandboxUrl);
  const pipelines = KINDS.map(
    (kind, index) =>
      new PipelineRun({
        kind,
        pipeline: stack.pipelines[index] as StackPipeline,
        kafka,
        sandbox,
        random: new SeededRandom(index + 1),
        rate: RATE,
        isFull: () => false,
      }),
  );
  const observer = new Observer(pipelines);
  for (const { producer } of pipelines) producer.start();
  const roll = new Roll(stack);
  try {
    // The working tree immediately takes over shards with batches of the released version.
    await roll.start(released);
    await roll.start(WORKING_TREE);
    // Upgrades, then rolls back the replica that has run longest.
    for (const [end, build] of [
      ['SIGKILL', WORKING_TREE],
      ['SIGTERM', released],
    ] as const) {
      const taken = await roll.replace(end, build);
      assert.ok(taken > 0, `${build.name} took over no shard with batches of another version`);
    }
  } finally {
    await Promise.all(pipelines.map(({ producer }) => producer.stop()));
  }

  // The verdict uses log lines only to judge resets of a group, and this test does not reset a group.
  const trial: Trial = { kafka, sandbox, pipelines, logged: () => [] };
  const settled = async () => {
    await observer.refresh();
    return await isSettled(trial);
  };
  const drained = await eventually('everything is settled', settled, {
    deadlineMs: DEADLINE_MS,
    everyMs: 100,
  }).catch((error: Error) => error.message);
  // Ends the replicas, so that no record is written after the last refresh.
  const ends = await Promise.all(roll.replicas.map(({ process }) => process.stop()));
  await observer.refresh();
  const verdicts = await Promise.all(pipelines.map((run) => verdictOn(trial, run)));
  const complaints = verdicts.flatMap((verdict) => verdict.complaints);
  for (const { kind, ledger } of pipelines) t.diagnostic(`${kind}: ${ledger.records} records`);
  assert.deepEqual(
    { complaints, drained, codes: ends.map(({ code }) => code) },
    { complaints: [], drained: true, codes: [0, 0] },
  );
});
