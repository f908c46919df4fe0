/** The journal: set as the engine demands, this pipeline's own, and readable. Nothing is written to it. */
import { isOwnCommit } from '../../core/journal/shard-state.ts';
import { RefusedError } from '../../pipeline/context/errors.ts';
import { forgottenJournal } from '../../pipeline/shard/forgotten-journal.ts';
import { journalProblem, journalSpec } from '../../pipeline/shard/journal-topic.ts';
import { eachAtATime, InspectError, PARTITIONS_AT_A_TIME } from '../inspect/context.ts';
import { readShardJournal, type ShardJournal } from '../inspect/shard-journal.ts';
import {
  type Check,
  counted,
  type Finding,
  failed,
  ok,
  skipped,
  together,
  warning,
} from './check.ts';
import type { KafkaParts, PipelineParts } from './parts.ts';
import { replicaFindings } from './replicas.ts';
import type { Topics } from './topics.ts';

/** A journal is some MB; a brokers' disk may be cold. */
const READ_LIMIT_MS = 60_000;

export interface JournalChecks {
  readonly topic: Check;
  readonly content: Check;
  readonly offsets: Check;
}

/** @param source the check of the source topic */
export function journalChecks(
  pipeline: PipelineParts,
  kafka: Pick<KafkaParts, 'probe'>,
  topics: Topics,
  { reached, source }: { readonly reached: Check; readonly source: Check },
): JournalChecks {
  const journal = pipeline.engine.journal.topic;
  const shards: ShardJournal[] = [];
  const about = `journal ${journal}`;
  const topic: Check = {
    name: 'journal.topic',
    pipeline: pipeline.name,
    about: `settings of ${about}`,
    needs: [reached],
    async run() {
      const found = await topics.get(journal);
      if (found === undefined) return await missing(pipeline, kafka, topics);
      const brokers = await topics.brokers();
      const problem = journalProblem(pipeline.engine, found.description, brokers);
      return together(
        `${counted(found.description.partitions, 'shard')}, compacted, may READ and WRITE`,
        [
          ...(problem === undefined ? [] : [failed(problem)]),
          ...topics.rights(journal, found, ['READ', 'WRITE']),
          ...replicaFindings(found, brokers, true),
        ],
      );
    },
  };
  const content: Check = {
    name: 'journal.content',
    pipeline: pipeline.name,
    about,
    needs: [topic],
    limitMs: READ_LIMIT_MS,
    async run(signal) {
      const found = await topics.get(journal);
      if (found === undefined) return ok('not there yet: nothing is under review');
      const inspection = { ...pipeline.inspection, signal };
      const numbers = Array.from({ length: found.description.partitions }, (_, shard) => shard);
      try {
        await eachAtATime(numbers, PARTITIONS_AT_A_TIME, async (shard) => {
          shards.push(await readShardJournal(inspection, shard));
        });
      } catch (error) {
        if (!(error instanceof InspectError)) throw error;
        return failed(
          error.message,
          'put the old setting back, or give this pipeline a journal topic and a group of its own',
        );
      }
      if (shards.every(({ state }) => state.meta === undefined))
        return ok('empty: this pipeline has not run with it yet');
      const jobs = shards.reduce((sum, { state }) => sum + state.jobs.size, 0);
      return ok(
        `this pipeline's own; ${counted(jobs, 'live job')} in ${counted(numbers.length, 'shard')}`,
      );
    },
  };
  const offsets: Check = {
    name: 'group.offsets',
    pipeline: pipeline.name,
    about: `offsets of group ${pipeline.engine.source.group}`,
    needs: [source, content],
    run: () => positions(pipeline, topics, shards),
  };
  return { topic, content, offsets };
}

/** Whether it could be made: the brokers check it, and make nothing. */
async function missing(
  { engine }: PipelineParts,
  { probe }: Pick<KafkaParts, 'probe'>,
  topics: Topics,
): Promise<Finding> {
  const source = await topics.get(engine.source.topic).catch(() => undefined);
  if (source === undefined)
    return skipped(
      'not tried, because the source topic, which it takes its shards from, cannot be seen',
    );
  try {
    const spec = journalSpec(engine, {
      brokers: await topics.brokers(),
      sourcePartitions: source.description.partitions,
    });
    await probe.tryCreate(engine.journal.topic, spec);
    return ok(
      `not there yet: the first start makes it, with ${counted(spec.partitions, 'shard')}, and may`,
    );
  } catch (error) {
    if (error instanceof RefusedError) return failed(error.message);
    throw error;
  }
}

/** Where the pipeline would go on, against what the source still has. */
async function positions(
  { engine, inspection }: PipelineParts,
  topics: Topics,
  shards: readonly ShardJournal[],
): Promise<Finding> {
  const { topic, group } = engine.source;
  const count = (await topics.get(topic))?.description.partitions ?? 0;
  const partitions = Array.from({ length: count }, (_, partition) => partition);
  const ranges = await inspection.admin.ranges(topic, partitions);
  const committed = await inspection.admin.committed(group, topic, partitions);
  const findings: Finding[] = [];
  const known = (partition: number) => shards.some(({ state }) => state.progress.has(partition));
  const forgotten = partitions.filter(
    (partition) => !known(partition) && isOwnCommit(committed.get(partition)?.metadata ?? ''),
  );
  if (forgotten.length > 0)
    findings.push(
      failed(
        forgottenJournal(
          engine,
          forgotten,
          shards.length === 0 ? 'does not exist' : 'holds nothing of them',
        ),
      ),
    );
  let waiting = 0;
  for (const partition of partitions) {
    const range = ranges.get(partition);
    if (range === undefined) continue;
    const { offset, metadata } = committed.get(partition) ?? { offset: null, metadata: '' };
    const watermark = shards
      .find(({ state }) => state.progress.has(partition))
      ?.state.progress.get(partition)?.watermark;
    const isReset = offset !== null && !isOwnCommit(metadata);
    const at =
      (isReset ? offset : watermark) ??
      offset ??
      (engine.source.startFrom === 'latest' ? range.end : range.start);
    waiting += Math.max(0, range.end - Math.max(at, range.start));
    if (isReset && watermark !== undefined)
      findings.push(
        warning(
          `partition ${partition}: offset ${offset} was set by somebody else: the next claim of its shard starts there, not at ${watermark}`,
          'nothing, if it is a reset that was meant',
        ),
      );
    else if (watermark !== undefined && watermark > range.end)
      findings.push(
        failed(
          `partition ${partition} ends at offset ${range.end}, but was read up to ${watermark}: the topic was deleted and created again`,
          'give the pipeline a new journal topic and a new group',
        ),
      );
    else if (at < range.start)
      findings.push(
        warning(
          `partition ${partition}: offsets ${at} to ${range.start - 1} were removed from the source before they were read`,
          'raise the retention of the source',
        ),
      );
  }
  return together(
    committed.size > 0 && [...committed.values()].some(({ offset }) => offset !== null)
      ? `${counted(waiting, 'offset')} still to be read`
      : `none committed yet: it starts from the ${engine.source.startFrom}, ${counted(waiting, 'offset')}`,
    findings,
  );
}
