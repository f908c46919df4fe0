/** Checks of the journal, the consumer group and the transactional ids. They write nothing and never join the group. */
import { isOwnCommit } from '../../core/journal/shard-state.ts';
import { journalSpec } from '../../pipeline/context/topics.ts';
import {
  forgottenJournal,
  ownCommits,
  refuseForgotten,
} from '../../pipeline/shard/forgotten-journal.ts';
import { journalProblem } from '../../pipeline/shard/prepare-topics.ts';
import type { Inspection } from '../inspect/context.ts';
import { journalReader, newestOf, readAll } from '../inspect/shard-journal.ts';
import type { KafkaParts, PipelineParts } from './check.ts';
import {
  counted,
  type Diagnosis,
  type DoctorCheck,
  failed,
  ok,
  together,
  warning,
} from './check.ts';
import { replicaProblems } from './topic-checks.ts';

export function journalCheck(
  { name, engine, inspection }: PipelineParts,
  { inspector }: KafkaParts,
): DoctorCheck {
  const { admin } = inspection;
  const { topic } = engine.journal;
  return {
    name: 'journal',
    about: `journal ${topic}`,
    needs: ['topic.source'],
    async run(signal) {
      const brokers = await admin.brokerCount();
      const found = await admin.describeTopic(topic);
      if (found === undefined) {
        const source = await admin.describeTopic(engine.source.topic);
        const sourcePartitions = source?.partitions ?? 0;
        const spec = journalSpec(engine, { brokers, sourcePartitions });
        // Asks the brokers to validate the creation without performing it.
        await inspector.tryCreate(topic, spec);
        const owned = await ownCommits(admin, engine, sourcePartitions);
        await refuseForgotten(admin, engine, owned, undefined);
        return ok(
          `does not exist yet: the first start creates it, with ${counted(spec.partitions, 'shard')}`,
        );
      }
      const problem = journalProblem(engine, found, brokers);
      if (problem !== undefined) return failed(problem);
      const { journals, positions } = await positionsOf({ ...inspection, signal });
      const { hold } = newestOf(journals);
      const jobs = journals.reduce((sum, { state }) => sum + state.jobs.size, 0);
      const forgotten = positions
        .filter(
          ({ watermark, committed, resetPending }) =>
            watermark === null && committed !== null && !resetPending,
        )
        .map(({ partition }) => partition);
      return together(`${counted(jobs, 'live job')} in ${counted(journals.length, 'shard')}`, [
        ...replicaProblems(found, brokers, true),
        forgotten.length > 0 &&
          failed(forgottenJournal(engine, forgotten, 'has no record of them')),
        // A hold survives a reinstallation, and the new installation would then read nothing.
        hold &&
          warning(
            `the pipeline is ${hold.state} and reads nothing new, by command of ${hold.by}`,
            `run "content-review-connector resume ${name}", unless this is intended`,
          ),
        ...positions.map(positionProblem),
      ]);
    },
  };
}

interface PartitionPosition {
  readonly partition: number;
  /** W: every record below it is settled or in a live job. null if the shard was never claimed. */
  readonly watermark: number | null;
  /** Committed offset of the group, which equals W. null if there is none. */
  readonly committed: number | null;
  /** True if the committed offset was set externally. The next claim of the shard continues from there. */
  readonly resetPending: boolean;
  /** First offset that is still in the source, and the end of its log. */
  readonly start: number;
  readonly end: number;
}

/** Reads the journals of all shards, and the group's positions. @throws InspectError */
async function positionsOf(inspection: Inspection) {
  const { scan, admin, pipeline } = inspection;
  const shards = [...(await scan.bounds(pipeline.topics.journal)).keys()];
  const readers = shards.map((shard) => journalReader(inspection, shard));
  const journals = await readAll(readers, 'stable');
  // Read after the journals. Otherwise W might be beyond the end, as if the topic had been created again.
  const bounds = await scan.bounds(pipeline.topics.source);
  const committed = await admin.committed(pipeline.group, pipeline.topics.source, [
    ...bounds.keys(),
  ]);
  const positions = Array.from(bounds, ([partition, { start, end }]): PartitionPosition => {
    const progress = journals[partition % journals.length]?.state.progress.get(partition);
    const { offset, metadata } = committed.get(partition) ?? { offset: null, metadata: '' };
    const resetPending = offset !== null && !isOwnCommit(metadata);
    const watermark = progress?.watermark ?? null;
    return { partition, watermark, committed: offset, resetPending, start, end };
  });
  return { journals, positions };
}

/** Compares the offset at which a partition would continue with the offsets that are in the source. */
function positionProblem(position: PartitionPosition): Diagnosis | false {
  const { partition, watermark, committed, resetPending, start, end } = position;
  const at = `partition ${partition}`;
  if (resetPending && watermark !== null)
    return warning(
      `${at}: offset ${committed} was set externally: the next claim of its shard starts there, not at ${watermark}`,
      'no action is needed if the reset was intended',
    );
  if (watermark !== null && watermark > end)
    return failed(
      `${at} ends at offset ${end}, but was read up to ${watermark}: the topic was deleted and created again`,
      'give the pipeline a new journal topic and a new group',
    );
  const next = watermark ?? committed;
  return (
    next !== null &&
    next < start &&
    warning(
      `${at}: offsets ${next} to ${start - 1} were removed from the source before they were read`,
      'raise the retention of the source',
    )
  );
}

export function groupChecks(
  { engine: { source, journal } }: PipelineParts,
  { inspector }: KafkaParts,
): DoctorCheck[] {
  // No shard uses this id, because the ids of shards end with a number.
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
        await inspector.tryTransactionalId(id);
        return ok('WRITE is allowed');
      },
    },
  ];
}
