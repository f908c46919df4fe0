/** The verdict on a run, from what was written, what can be read, and what the journals and the groups hold at the end. */

import type { LogLine } from '../../../support/stack/stack.ts';
import { type GroupPosition, groupPositions } from '../../../support/stack/stack-control.ts';
import type { ReadRecord } from '../../../support/stack/topic-reader.ts';
import { Complaints } from '../../judge/complaints.ts';
import { Imported } from '../../judge/imported.ts';
import { liveJobKeys } from '../../judge/judge.ts';
import { judgeContracts } from '../../judge/judge-contracts.ts';
import {
  type Ground,
  judgeDeadLetter,
  judgeOutput,
  type Produced,
} from '../../judge/judge-records.ts';
import { judgeSilence } from '../../judge/judge-silence.ts';
import { RETURNED_HEADERS } from '../../load/hostile-parts.ts';
import type { Kind } from '../../load/pipelines.ts';
import type { PipelineRun } from '../pipeline-run.ts';
import type { World } from '../world.ts';
import type { Ledger } from './ledger.ts';

/** On one pipeline. */
export interface Verdict {
  readonly kind: Kind;
  readonly lost: number;
  readonly twice: number;
  /** Records that a forward reset passed over. */
  readonly passedOver: number;
  readonly complaints: readonly string[];
}

/**
 * True if nothing is due any more, no job is live, and each group stands at the end of every
 * partition.
 */
export async function isSettled(world: World): Promise<boolean> {
  if (world.due > 0) return false;
  for (const run of world.pipelines) {
    const { live, group } = await remains(world, run);
    if (live.length > 0 || group.some(({ committed, end }) => committed !== end)) return false;
  }
  return true;
}

/** For when everything has been read and no replica runs. */
export async function verdictOn(world: World, run: PipelineRun): Promise<Verdict> {
  const { kind, view, ledger, producer, pipeline } = run;
  const verdict = new Complaints();
  const { live, group } = await remains(world, run);
  for (const key of live) verdict.add('is still live in the journal', key);
  for (const { partition, committed, end } of group) {
    if (committed !== end)
      verdict.add('is not committed to its end', `partition ${partition} (${committed} of ${end})`);
  }
  const missing = ledger.missing();
  for (const where of missing) verdict.add('has no terminal record', where);
  for (const { kind: what, where } of ledger.violations)
    verdict.add(`has a terminal record: ${what}`, where);

  const events = new Map(
    view.produced.map((event) => [`${event.partition}:${event.offset}`, event]),
  );
  const find = (where: string): Produced | undefined => events.get(where);
  const ground = await groundOf(world, run);
  for (const record of view.outputs) judgeOutput(ground, record, find, verdict);
  for (const record of view.deadLetters) judgeDeadLetter(ground, record, find, verdict);
  judgeContracts(view.outputs, view.deadLetters, verdict);
  const journal = await world.kafka.readAll(pipeline.topics.journal, { uncommitted: true });
  judgeSilence({ kind, journal, outputs: view.outputs, deadLetters: view.deadLetters }, verdict);

  for (const place of producer.bombs)
    if (!view.unreadable.has(place))
      verdict.add(
        'was acknowledged by Kafka as a batch that nothing can read, and is not one',
        place,
      );
  for (const oddity of view.oddities) verdict.add('is odd', oddity);
  for (const [trace, { fate }] of producer.journal) {
    if (fate === 'written' && !view.seen.has(trace))
      verdict.add('was acknowledged by Kafka and is not in the source', trace);
  }
  if (kind === 'review') {
    const batches = await world.sandbox.batches();
    const shuffled = new Set(
      batches.filter(({ fault }) => fault === 'rows').map(({ batch_id }) => batch_id),
    );
    for (const batch of outOfOrder(view.outputs, shuffled))
      verdict.add('has decisions out of the order of its rows', batch);
  }
  const resets = world.fleet.logged(RESET_SEEN).filter((line) => line.pipeline === pipeline.name);
  const passedOver = judgeResets(ledger, resets, verdict);
  return {
    kind,
    lost: missing.length,
    twice: ledger.violations.filter((violation) => violation.kind === 'twice').length,
    passedOver,
    complaints: verdict.list().map((complaint) => `${kind}: ${complaint}`),
  };
}

async function groundOf(
  { sandbox }: World,
  { kind, view, pipeline }: PipelineRun,
): Promise<Ground> {
  const ground = {
    sourceTopic: pipeline.topics.source,
    returnedHeaders: RETURNED_HEADERS,
    replays: true,
  };
  if (kind !== 'import') return ground;
  const imported = await Imported.read(sandbox.url, view.outputs);
  return { ...ground, isImported: (importId, record) => imported.has(importId, record) };
}

async function remains(
  { kafka }: World,
  { pipeline }: PipelineRun,
): Promise<{ live: string[]; group: GroupPosition[] }> {
  const journal = await kafka.readAll(pipeline.topics.journal);
  return { live: liveJobKeys(journal), group: await groupPositions(kafka, pipeline) };
}

/**
 * A result file has its rows in the order of the upload, which is that of the source in each partition, and decisions are
 * published in the order of the file: so, of one batch, those of a source partition in an output partition ascend. `except`:
 * batches whose files were shuffled.
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
 * Checks that records passed over by a forward reset were counted. The connector counts offsets
 * (also those that hold no record), so it counts at least as many as records are without a terminal
 * one.
 * @returns how many records are.
 */
function judgeResets(ledger: Ledger, seen: readonly LogLine[], verdict: Complaints): number {
  let sum = 0;
  for (const reset of ledger.resets) {
    const passed = ledger.passedOver(reset).length;
    sum += passed;
    const where = `partition ${reset.partition} to ${reset.offset}`;
    // A claim that died before it was committed found the reset, and the next one found it again.
    const noticed = seen.filter(
      ({ partition, offset }) => partition === reset.partition && offset === reset.offset,
    );
    if (noticed.length === 0) verdict.add('was a reset that nobody noticed', where);
    else if (passed > Math.max(...noticed.map(({ skipped }) => Number(skipped)))) {
      verdict.add(
        'was a reset that passed over more records than were counted',
        `${where} (${passed})`,
      );
    }
  }
  return sum;
}
