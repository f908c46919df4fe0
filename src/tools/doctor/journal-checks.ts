/** Checks of the journal, the consumer group and the transactional ids. Nothing is written or joined. */
import { isOwnCommit } from '../../core/journal/shard-state.ts';
import { RefusedError } from '../../pipeline/context/errors.ts';
import { journalSpec } from '../../pipeline/context/topics.ts';
import { forgottenJournal } from '../../pipeline/shard/forgotten-journal.ts';
import { journalProblem } from '../../pipeline/shard/prepare-topics.ts';
import { eachAtATime, InspectError } from '../inspect/context.ts';
import { newestOf } from '../inspect/control.ts';
import { readShardJournal, type ShardJournal } from '../inspect/shard-journal.ts';
import type { DoctorParts, KafkaParts, PipelineParts } from './check.ts';
import {
  counted,
  type Diagnosis,
  type DoctorCheck,
  failed,
  notTried,
  ok,
  together,
  warning,
} from './check.ts';
import { replicaProblems, topicState } from './topic-checks.ts';

/** A journal has some megabytes, and the disks of the brokers may be slow. */
const READ_LIMIT_MS = 60_000;

export function journalChecks(pipeline: PipelineParts, kafka: KafkaParts): DoctorCheck[] {
  const { engine, inspection } = pipeline;
  const { topic } = engine.journal;
  const shards: ShardJournal[] = [];
  return [
    {
      name: 'journal',
      about: `journal ${topic}`,
      needs: ['kafka.connect'],
      limitMs: READ_LIMIT_MS,
      async run(signal) {
        const found = await topicState(kafka, inspection.admin, topic);
        if (found === undefined) return await absentJournal(pipeline, kafka);
        const brokers = await inspection.admin.brokerCount();
        const problem = journalProblem(engine, found.description, brokers);
        if (problem !== undefined) return failed(problem);
        try {
          await eachAtATime(found.partitions.keys(), async (shard) => {
            shards.push(await readShardJournal({ ...inspection, signal }, shard));
          });
        } catch (error) {
          if (!(error instanceof InspectError)) throw error;
          return failed(
            error.message,
            'restore the previous setting, or give this pipeline a journal topic and a group of its own',
          );
        }
        const jobs = shards.reduce((sum, { state }) => sum + state.jobs.size, 0);
        return together(
          shards.every(({ state }) => state.meta === undefined)
            ? 'empty: this pipeline has not run with it yet'
            : `${counted(jobs, 'live job')} in ${counted(shards.length, 'shard')}`,
          [...replicaProblems(found, brokers, true), ...heldPipeline(pipeline, shards)],
        );
      },
    },
    {
      name: 'group.offsets',
      about: `offsets of group ${engine.source.group}`,
      needs: ['topic.source', 'journal'],
      run: () => positions(pipeline, shards),
    },
  ];
}

/** A drain outlasts the release that gave it: the next installation is ready and takes nothing in. */
function heldPipeline({ name }: PipelineParts, shards: readonly ShardJournal[]): Diagnosis[] {
  const { hold } = newestOf(shards);
  if (hold === undefined) return [];
  const held = hold.state === 'paused' ? 'paused' : 'draining or drained';
  return [
    warning(
      `the pipeline is ${held} and takes nothing in, by command of ${hold.by}`,
      `run "content-review-connector resume ${name}", unless this is intended`,
    ),
  ];
}

/** The brokers validate the creation of the topic without creating it. */
async function absentJournal(
  { engine, inspection: { admin } }: PipelineParts,
  { inspector }: KafkaParts,
): Promise<Diagnosis> {
  const source = await admin.describeTopic(engine.source.topic).catch(() => undefined);
  if (source === undefined)
    return notTried('the number of shards follows from the source topic, which is not visible');
  try {
    const brokers = await admin.brokerCount();
    const spec = journalSpec(engine, { brokers, sourcePartitions: source.partitions });
    await inspector.tryCreate(engine.journal.topic, spec);
    return ok(
      `does not exist yet: the first start creates it, with ${counted(spec.partitions, 'shard')}`,
    );
  } catch (error) {
    if (error instanceof RefusedError) return failed(error.message);
    throw error;
  }
}

/** Compares the offsets at which the pipeline would continue with those that the source has. */
async function positions(
  { engine, inspection: { admin } }: PipelineParts,
  shards: readonly ShardJournal[],
): Promise<Diagnosis> {
  const { topic, group, startFrom } = engine.source;
  const count = (await admin.describeTopic(topic))?.partitions ?? 0;
  const partitions = Array.from({ length: count }, (_, partition) => partition);
  const ranges = await admin.ranges(topic, partitions);
  const committed = await admin.committed(group, topic, partitions);
  const progress = new Map(shards.flatMap(({ state }) => [...state.progress]));

  const problems: Diagnosis[] = [];
  const forgotten = partitions.filter(
    (partition) =>
      !progress.has(partition) && isOwnCommit(committed.get(partition)?.metadata ?? ''),
  );
  if (forgotten.length > 0) {
    const state = shards.length === 0 ? 'does not exist' : 'has no record of them';
    problems.push(failed(forgottenJournal(engine, forgotten, state)));
  }

  let unread = 0;
  for (const [partition, { start, end }] of ranges) {
    const { offset, metadata } = committed.get(partition) ?? { offset: null, metadata: '' };
    const watermark = progress.get(partition)?.watermark;
    const isReset = offset !== null && !isOwnCommit(metadata);
    const next = (isReset ? offset : watermark) ?? offset ?? (startFrom === 'latest' ? end : start);
    unread += Math.max(0, end - Math.max(next, start));
    const at = `partition ${partition}`;
    if (isReset && watermark !== undefined)
      problems.push(
        warning(
          `${at}: offset ${offset} was set externally: the next claim of its shard starts there, not at ${watermark}`,
          'none, if the reset was intended',
        ),
      );
    else if (watermark !== undefined && watermark > end)
      problems.push(
        failed(
          `${at} ends at offset ${end}, but was read up to ${watermark}: the topic was deleted and created again`,
          'give the pipeline a new journal topic and a new group',
        ),
      );
    else if (next < start)
      problems.push(
        warning(
          `${at}: offsets ${next} to ${start - 1} were removed from the source before they were read`,
          'raise the retention of the source',
        ),
      );
  }
  const isNew = ![...committed.values()].some(({ offset }) => offset !== null);
  return together(
    `${isNew ? `none committed: starts from the ${startFrom}, ` : ''}${counted(unread, 'unread offset')}`,
    problems,
  );
}

export function groupChecks(
  pipeline: PipelineParts,
  { kafka: { inspector }, roundTrip }: DoctorParts,
): DoctorCheck[] {
  const { source, journal, kafka } = pipeline.engine;
  // No shard uses it: their ids end with a number.
  const id = `${journal.topic}-doctor`;
  return [
    {
      name: 'group.members',
      about: `group ${source.group}`,
      needs: ['kafka.connect'],
      async run() {
        const { state, members, isOurs, protocol, protocolType } = await inspector.group(
          source.group,
        );
        const others = new Set(
          members.map(({ clientId, host }) => `${clientId} at ${host.replace(/^\//, '')}`),
        );
        if (!isOurs)
          return failed(
            `used by another application (${protocolType} ${protocol}: ${[...others].slice(0, 3).join(', ')})`,
            'stop that consumer, or set another source.group',
          );
        return ok(
          `${state === 'Dead' ? 'does not exist yet' : state}, ${counted(members.length, 'replica')}`,
        );
      },
    },
    {
      name: 'transactions',
      about: `transactional id ${id}`,
      needs: ['kafka.connect'],
      async run() {
        if (roundTrip === undefined) {
          await inspector.tryTransactionalId(id);
          return ok('WRITE is allowed');
        }
        const { transactionTimeoutMs } = kafka;
        await inspector.openTransactionalId(id, transactionTimeoutMs);
        return ok(
          `initialised with pipelines[].kafka.transactionTimeout (${transactionTimeoutMs} ms)`,
        );
      },
    },
  ];
}
