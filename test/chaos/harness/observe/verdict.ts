/** Verdict on a run, from the written records, the readable records, and the final state of journals and groups. */

import type { TestKafka } from '../../../support/kafka/kafka.ts';
import type { Sandbox } from '../../../support/stack/sandbox.ts';
import type { LogLine } from '../../../support/stack/stack.ts';
import { groupPositions } from '../../../support/stack/stack-control.ts';
import type { ReadRecord } from '../../../support/stack/topic-reader.ts';
import { Complaints } from '../../judge/complaints.ts';
import { Imported } from '../../judge/imported.ts';
import { judge, liveJobKeys, type Remains } from '../../judge/judge.ts';
import { judgeContracts } from '../../judge/judge-contracts.ts';
import type { Ground } from '../../judge/judge-records.ts';
import { judgeSilence } from '../../judge/judge-silence.ts';
import { RETURNED_HEADERS } from '../../load/hostile-parts.ts';
import type { Kind } from '../../load/pipelines.ts';
import type { PipelineRun } from '../pipeline-run.ts';
import type { Ledger } from './ledger.ts';

/** Verdict on one pipeline. */
export interface Verdict {
  readonly kind: Kind;
  readonly lost: number;
  readonly twice: number;
  /** Number of records that a forward reset skipped. */
  readonly passedOver: number;
  readonly complaints: readonly string[];
}

/** Pipelines to judge, with their broker and sandbox. */
export interface Trial {
  readonly kafka: TestKafka;
  readonly sandbox: Sandbox;
  readonly pipelines: readonly PipelineRun[];
  /** Log lines of all replicas with this message. */
  logged(message: string): readonly LogLine[];
}

/** True if no record is outstanding, no job is live, and each group has committed the end of every partition. */
export async function isSettled(trial: Trial): Promise<boolean> {
  if (trial.pipelines.some(({ ledger }) => ledger.due > 0)) return false;
  for (const run of trial.pipelines) {
    const { live, group } = await remains(trial, run);
    if (live.length > 0 || group.some(({ committed, end }) => committed !== end)) return false;
  }
  return true;
}

/** Judges a pipeline. Must be called after everything has been read and all replicas have ended. */
export async function verdictOn(trial: Trial, run: PipelineRun): Promise<Verdict> {
  const { kind, view, ledger, producer, pipeline } = run;
  const verdict = new Complaints();
  const { outputs, deadLetters, produced } = view;
  judge(
    { ground: await groundOf(trial, run), outputs, deadLetters, produced, ledger },
    await remains(trial, run),
    verdict,
  );
  judgeContracts(outputs, deadLetters, verdict);
  const journal = await trial.kafka.readAll(pipeline.topics.journal, { uncommitted: true });
  judgeSilence({ kind, journal, outputs, deadLetters }, verdict);

  for (const place of producer.bombs)
    if (!view.unreadable.has(place))
      verdict.add('was acknowledged by Kafka as an unreadable batch, but can be read', place);
  for (const oddity of view.oddities) verdict.add('is unexpected', oddity);
  for (const [trace, { fate }] of producer.journal) {
    if (fate === 'written' && !view.seen.has(trace))
      verdict.add('was acknowledged by Kafka, but is not in the source', trace);
  }
  if (kind === 'review') {
    const batches = await trial.sandbox.batches();
    const shuffled = new Set(
      batches.filter(({ fault }) => fault === 'rows').map(({ batch_id }) => batch_id),
    );
    for (const batch of outOfOrder(outputs, shuffled))
      verdict.add('has decisions in another order than its rows', batch);
  }
  const resets = trial.logged(RESET_SEEN).filter((line) => line.pipeline === pipeline.name);
  const passedOver = judgeResets(ledger, resets, verdict);
  return {
    kind,
    lost: ledger.missing().length,
    twice: ledger.violations.filter((violation) => violation.kind === 'twice').length,
    passedOver,
    complaints: verdict.list().map((complaint) => `${kind}: ${complaint}`),
  };
}

async function groundOf(
  { sandbox }: Trial,
  { kind, view, pipeline }: PipelineRun,
): Promise<Ground> {
  const ground = {
    sourceTopic: pipeline.topics.source,
    returnedHeaders: RETURNED_HEADERS,
  };
  if (kind !== 'import') return ground;
  const imported = await Imported.read(sandbox, view.outputs);
  return { ...ground, isImported: (importId, record) => imported.has(importId, record) };
}

async function remains({ kafka }: Trial, { pipeline }: PipelineRun): Promise<Remains> {
  const journal = await kafka.readAll(pipeline.topics.journal);
  return { live: liveJobKeys(journal), group: await groupPositions(kafka, pipeline) };
}

/**
 * Returns the batches whose decisions are out of order. A result file keeps the order of the upload, and decisions
 * are published in the order of the file. So for one batch, the source offsets of a partition must ascend in each
 * output partition.
 * @param except batches whose files were shuffled
 */
export function outOfOrder(
  decisions: readonly ReadRecord[],
  except: ReadonlySet<string>,
): string[] {
  const last = new Map<string, number>();
  const wrong = new Set<string>();
  for (const { partition: output, value } of decisions) {
    const { batch, source } = JSON.parse(String(value)) as {
      batch: { id: string };
      source: { partition: number; offset: number };
    };
    if (except.has(batch.id)) continue;
    const line = `${batch.id}/${output}/${source.partition}`;
    if (source.offset <= (last.get(line) ?? -1)) wrong.add(batch.id);
    last.set(line, source.offset);
  }
  return [...wrong];
}

const RESET_SEEN = 'consumer group offset was changed externally; resuming from it';

/**
 * Checks that the connector counted the records that a forward reset skipped. The connector counts offsets, including
 * unused ones, so its number must be at least the number of skipped records.
 * @returns the number of skipped records
 */
function judgeResets(ledger: Ledger, seen: readonly LogLine[], verdict: Complaints): number {
  let sum = 0;
  for (const reset of ledger.resets) {
    const passed = ledger.passedOver(reset).length;
    sum += passed;
    const where = `partition ${reset.partition} to ${reset.offset}`;
    // A reset may be logged twice: a claim detects it and ends before its commit, and the next claim detects it again.
    const noticed = seen.filter(
      ({ partition, offset }) => partition === reset.partition && offset === reset.offset,
    );
    if (noticed.length === 0) verdict.add('was a reset that no replica detected', where);
    else if (passed > Math.max(...noticed.map(({ skipped }) => Number(skipped)))) {
      verdict.add(
        'was a reset that skipped more records than were counted',
        `${where} (${passed})`,
      );
    }
  }
  return sum;
}
