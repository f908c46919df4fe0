/** Checks of the journal, the consumer group and the transactional ids. They write nothing and never join the group. */
import { journalSpec } from '../../pipeline/context/topics.ts';
import { ownCommits, refuseForgotten } from '../../pipeline/shard/forgotten-journal.ts';
import { journalProblem } from '../../pipeline/shard/prepare-topics.ts';
import { journalReader, newestOf, readAll } from '../inspect/shard-journal.ts';
import type { KafkaParts, PipelineParts } from './check.ts';
import { counted, type DoctorCheck, failed, ok, together, warning } from './check.ts';

export function journalCheck(
  { name, engine, inspection }: PipelineParts,
  { inspector }: KafkaParts,
): DoctorCheck {
  const { admin } = inspection;
  const { topic } = engine.journal;
  return {
    name: 'journal',
    about: `journal ${topic}`,
    needsKafka: true,
    async run(signal) {
      const brokers = await admin.brokerCount();
      const source = await admin.describeTopic(engine.source.topic);
      if (source === undefined)
        return { status: 'skipped', found: 'not tried, because the source does not exist' };
      const owned = await ownCommits(admin, engine, source.partitions);
      const found = await admin.describeTopic(topic);
      const problem = found && journalProblem(engine, found, brokers);
      if (problem !== undefined) return failed(problem);
      await refuseForgotten(admin, engine, owned, found?.partitions);
      if (found === undefined) {
        const spec = journalSpec(engine, { brokers, sourcePartitions: source.partitions });
        // The brokers validate the creation without performing it.
        await inspector.tryCreate(topic, spec);
        return ok(
          `does not exist yet: the first start creates it, with ${counted(spec.partitions, 'shard')}`,
        );
      }
      const shards = Array.from({ length: found.partitions }, (_, shard) =>
        journalReader({ ...inspection, signal }, shard),
      );
      const journals = await readAll(shards, 'stable');
      const { hold } = newestOf(journals);
      const jobs = journals.reduce((sum, { state }) => sum + state.jobs.size, 0);
      return together(`${counted(jobs, 'live job')} in ${counted(journals.length, 'shard')}`, [
        // A hold survives a reinstallation, and the new installation would then read nothing.
        hold &&
          warning(
            `the pipeline is ${hold.state} and reads nothing new, by command of ${hold.by}`,
            `run "content-review-connector resume ${name}", unless this is intended`,
          ),
      ]);
    },
  };
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
      needsKafka: true,
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
      needsKafka: true,
      async run() {
        await inspector.tryTransactionalId(id);
        return ok('WRITE is allowed');
      },
    },
  ];
}
