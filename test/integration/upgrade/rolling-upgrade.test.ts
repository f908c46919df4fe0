/**
 * Rolling upgrade of a running group under load, one replica at a time, killed or stopped in order:
 * from the released version to the working tree, back, and up again. The judge is that of chaos.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Witness } from '../../chaos/judge/witness.ts';
import { REVIEW_RULES } from '../../chaos/load/hostile-events.ts';
import { RETURNED_HEADERS } from '../../chaos/load/hostile-parts.ts';
import { KINDS, type Kind, partitionsOf } from '../../chaos/load/pipelines.ts';
import { Writer } from '../../chaos/load/writer.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { SeededRandom } from '../../support/memory/clock.ts';
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

/** Shards per pipeline: at least one for each replica. */
const SHARDS = 2;
/** Records of one write, by kind. */
const RECORDS = { review: 25, import: 5, lookup: 3 };
/** For what takes a second on a machine that does nothing else, ms. */
const DEADLINE_MS = 60_000;
/** Between two writes, ms. */
const PAUSE_MS = 250;

const directory = temporaryDirectory();
const kafka = await testKafka();

/** Options that both versions know. */
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

/** Two replicas, of which one at a time is replaced. */
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

  /** The one that has run longest is killed or stopped in order. @returns how many shards the new one took over with live jobs */
  async replace(end: 'SIGKILL' | 'SIGTERM', build: Build): Promise<number> {
    const old = this.#running.shift();
    assert.ok(old !== undefined);
    const busy = () => liveJobs(old.replica, this.#stack.replicas) > 0;
    await eventually(`${old.build.name} has batches under way`, busy, { deadlineMs: DEADLINE_MS });
    old.replica.process.kill(end);
    const { code } = await old.replica.process.exited;
    if (end === 'SIGTERM') assert.equal(code, 0, old.replica.lines.slice(-15).join('\n'));
    const stayed = this.replicas.map((replica) => ({ replica, from: replica.lines.length }));
    const replica = await this.start(build);
    // The one that was there settles batches beside the new one.
    await Promise.all(stayed.map((one) => one.replica.logged('batch settled', { from: one.from })));
    return replica.lines.filter((line) => /"jobs":[1-9].*"msg":"owns the shard"/.test(line)).length;
  }

  /** It owns a shard of each pipeline, and has settled batches of its own. */
  async #atWork(build: Build, replica: Replica): Promise<void> {
    const owns = () =>
      new Set([...ownedShards(replica)].map(([name]) => name.split('/')[0])).size === KINDS.length;
    let ended = false;
    void replica.process.exited.then(() => {
      ended = true;
    });
    const working = Promise.all([
      eventually('it owns a shard of each pipeline', () => ended || owns(), {
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

test('versions share a group: upgraded, rolled back and upgraded again under load, every record has exactly one terminal record', async (t) => {
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
  const lines = KINDS.map((kind, index) => ({
    kind,
    pipeline: stack.pipelines[index] as StackPipeline,
    writer: new Writer(
      kafka,
      stack,
      stack.pipelines[index] as StackPipeline,
      kind,
      new SeededRandom(index + 1),
    ),
  }));

  const over = new AbortController();
  const load = Promise.all(
    lines.map(async ({ kind, writer }) => {
      while (!over.signal.aborted) {
        await writer.write(RECORDS[kind]);
        await sleep(PAUSE_MS);
      }
    }),
  );
  const roll = new Roll(stack);
  try {
    // The working tree takes over the first shards at once, with batches of the released version.
    await roll.start(released);
    await roll.start(WORKING_TREE);
    // The replica that has run longest is replaced. The last step leaves the working tree alone.
    const steps = [released, WORKING_TREE, WORKING_TREE];
    for (const [at, build] of steps.entries()) {
      const taken = await roll.replace(at % 2 === 0 ? 'SIGKILL' : 'SIGTERM', build);
      assert.ok(taken > 0, `${build.name} took over no shard with batches of another version`);
    }
  } finally {
    over.abort();
    await load;
  }

  const witnesses = lines.map(
    ({ kind, pipeline, writer }) => new Witness(kafka, pipeline, kind, writer.produced),
  );
  const settled = async () =>
    (await Promise.all(witnesses.map((witness) => witness.isSettled()))).every(Boolean);
  const drained = await eventually('everything is settled', settled, {
    deadlineMs: DEADLINE_MS,
    everyMs: 100,
  }).catch((error: Error) => error.message);
  // An orderly end, so that nothing more can come after the last look.
  const ends = await Promise.all(roll.replicas.map(({ process }) => process.stop()));
  const complaints = (
    await Promise.all(witnesses.map((witness) => witness.complaints(stack.sandboxUrl)))
  ).flat();
  for (const { kind, writer } of lines) t.diagnostic(`${kind}: ${writer.produced.length} records`);
  assert.deepEqual(
    { complaints, drained, codes: ends.map(({ code }) => code) },
    { complaints: [], drained: true, codes: [0, 0] },
  );
});
