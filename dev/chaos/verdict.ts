/** The verdict on a run, from what was written, what can be read, and what the journal and the group hold at the end. */
import { RETURNED_HEADERS } from '../../test/chaos/hostile-events.ts';
import { Complaints, judgeDeadLetter, judgeDecision, liveJobKeys, type Produced } from '../../test/chaos/judge.ts';
import type { LogLine } from '../../test/support/stack.ts';
import { type GroupPosition, groupPositions } from '../../test/support/stack-control.ts';
import type { ReadRecord } from '../../test/support/topic-reader.ts';
import type { Ledger } from './ledger.ts';
import type { World } from './world.ts';

export interface Verdict {
  readonly lost: number;
  readonly twice: number;
  /** Records that a forward reset passed over. */
  readonly passedOver: number;
  readonly complaints: readonly string[];
}

/** Whether nothing is due any more, no job is live, and the group stands at the end of every partition. */
export async function isSettled(world: World): Promise<boolean> {
  if (world.ledger.due > 0) return false;
  const { live, group } = await remains(world);
  return live.length === 0 && group.every(({ committed, end }) => committed === end);
}

/** For when everything has been read and no replica runs. */
export async function verdictOn(world: World): Promise<Verdict> {
  const { observer, ledger, producer, stack, sandbox } = world;
  const verdict = new Complaints();
  const { live, group } = await remains(world);
  for (const key of live) verdict.add('is still live in the journal', key);
  for (const { partition, committed, end } of group) {
    if (committed !== end) verdict.add('is not committed to its end', `partition ${partition} (${committed} of ${end})`);
  }
  const missing = ledger.missing();
  for (const where of missing) verdict.add('has no terminal record', where);
  for (const { kind, where } of ledger.violations) verdict.add(`has a terminal record: ${kind}`, where);

  const events = new Map(observer.produced.map((event) => [`${event.partition}:${event.offset}`, event]));
  const find = (where: string): Produced | undefined => events.get(where);
  const ground = { sourceTopic: stack.topics.source, returnedHeaders: RETURNED_HEADERS, replays: true };
  for (const record of observer.decisions) judgeDecision(ground, record, find, verdict);
  for (const record of observer.deadLetters) judgeDeadLetter(ground, record, find, verdict);

  for (const oddity of observer.oddities) verdict.add('is odd', oddity);
  for (const [trace, { fate }] of producer.journal) {
    if (fate === 'written' && !observer.seen.has(trace)) verdict.add('was acknowledged by Kafka and is not in the source', trace);
  }
  const shuffled = new Set((await sandbox.batches()).filter(({ fault }) => fault === 'rows').map(({ batch_id }) => batch_id));
  for (const batch of outOfOrder(observer.decisions, shuffled)) verdict.add('has decisions out of the order of its rows', batch);
  const passedOver = judgeResets(ledger, world.fleet.logged(RESET_SEEN), verdict);
  return {
    lost: missing.length,
    twice: ledger.violations.filter(({ kind }) => kind === 'twice').length,
    passedOver,
    complaints: verdict.list(),
  };
}

async function remains(world: World): Promise<{ live: string[]; group: GroupPosition[] }> {
  const journal = await world.kafka.readAll(world.stack.topics.journal);
  return { live: liveJobKeys(journal), group: await groupPositions(world.kafka, world.stack) };
}

/**
 * A result file has its rows in the order of the upload, which is that of the source in each partition, and decisions are
 * published in the order of the file: so, of one batch, those of a source partition in an output partition ascend. `except`:
 * batches whose files were shuffled.
 */
export function outOfOrder(decisions: readonly ReadRecord[], except: ReadonlySet<string>): string[] {
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

const RESET_SEEN = 'the group was reset by somebody: reading from its offset';

/**
 * What a forward reset passed over must have been counted: the connector counts offsets (also those that hold no record), so it
 * counts at least as many as records are without a terminal one. @returns how many records are.
 */
function judgeResets(ledger: Ledger, seen: readonly LogLine[], verdict: Complaints): number {
  let sum = 0;
  for (const reset of ledger.resets) {
    const passed = ledger.passedOver(reset).length;
    sum += passed;
    const where = `partition ${reset.partition} to ${reset.offset}`;
    // A claim that died before it was committed found the reset, and the next one found it again.
    const noticed = seen.filter(({ partition, offset }) => partition === reset.partition && offset === reset.offset);
    if (noticed.length === 0) verdict.add('was a reset that nobody noticed', where);
    else if (passed > Math.max(...noticed.map(({ skipped }) => Number(skipped)))) {
      verdict.add('was a reset that passed over more records than were counted', `${where} (${passed})`);
    }
  }
  return sum;
}
