/** Commands of an operator: writes them to every shard of a pipeline, and follows what its owners make of them. */
import {
  type Control,
  type ControlScope,
  commanded,
  type GivenCommand,
  inForce,
  NO_ACKNOWLEDGEMENT,
  NO_CONTROL,
  obeys,
  revisionAfter,
} from '../../core/journal/control.ts';
import { writeControl } from '../../core/journal/journal-records.ts';
import { type ControlProducer, TransactionError } from '../../core/ports/kafka.ts';
import { eachAtATime, InspectError, type Inspection } from './context.ts';
import { journalReader, type ShardJournal } from './shard-journal.ts';

export interface ControlTools extends Inspection {
  /** Opens the producer of commands; the caller closes it. */
  openControl(shards: readonly number[]): ControlProducer;
}

/** Outcome of a command. */
export type ControlOutcome =
  /** Every owner has acknowledged it: nothing begins any more, is drained, or goes on. */
  | 'reached'
  /** It is in the journal; not waited for. */
  | 'written'
  /** A newer command came meanwhile. */
  | 'superseded'
  /** Its time was over before it was reached. */
  | 'ended'
  /** Not every owner has acknowledged it in time. */
  | 'late'
  /** No replica is running. */
  | 'unattended'
  | 'interrupted';

export interface ShardAnswer {
  readonly shard: number;
  readonly reached: boolean;
  readonly liveJobs: number;
  readonly unsettled: number;
}

export interface ControlReport {
  readonly outcome: ControlOutcome;
  /** False if everything was as commanded before. */
  readonly changed: boolean;
  readonly revision: number;
  readonly scopes: readonly ControlScope[];
  readonly shards: readonly ShardAnswer[];
}

export interface Waiting {
  /** 0: the command is not waited for. */
  readonly timeoutMs: number;
  readonly onProgress: (shards: readonly ShardAnswer[]) => void;
  /** Ends the wait; the command stays in force. */
  readonly signal: AbortSignal;
}

const LOOK_MS = 500;
/** A replica that restarts is away for less. */
const UNATTENDED_MS = 10_000;

type Readers = readonly ReturnType<typeof journalReader>[];

/** Gives a command, and waits until it is obeyed. @throws InspectError */
export async function giveCommand(
  tools: ControlTools,
  given: GivenCommand,
  waiting: Waiting,
): Promise<ControlReport> {
  const { clock, pipeline, scan } = tools;
  const shards = [...(await scan.bounds(pipeline.topics.journal)).keys()];
  const readers = shards.map((shard) => journalReader(tools, shard));
  const { control, changed } = await write(tools, shards, readers, given);
  const { revision } = control;
  const report = (outcome: ControlOutcome, answers: readonly ShardAnswer[] = []) => ({
    outcome,
    changed,
    revision,
    scopes: inForce(control, clock.now()),
    shards: answers,
  });
  // Without any command there is nothing to acknowledge.
  if (waiting.timeoutMs === 0 || revision === 0) return report('written');
  const [outcome, answers] = await answered(tools, readers, control, given, waiting);
  return report(outcome, answers);
}

/** Reads and writes behind a fence: of two commands at a time one is refused, and none is lost. */
async function write(
  tools: ControlTools,
  shards: readonly number[],
  readers: Readers,
  given: GivenCommand,
): Promise<{ control: Control; changed: boolean }> {
  const producer = tools.openControl(shards);
  try {
    await producer.fence();
    const journals = await readAll(readers, 'end');
    const before = newestOf(journals);
    const isReadEverywhere = withOtherCommands(journals).length === 0;
    const nowMs = tools.clock.now();
    const control =
      commanded(before, given, nowMs) ??
      (isReadEverywhere ? undefined : { ...before, revision: revisionAfter(before, nowMs) });
    if (control === undefined) return { control: before, changed: false };
    await producer.commit({ journal: [writeControl(control)] });
    return { control, changed: true };
  } catch (error) {
    if (error instanceof RangeError) throw new InspectError('usage', error.message);
    if (!(error instanceof TransactionError)) throw error;
    const { failure, message } = error;
    if (failure === 'fenced')
      throw new InspectError(
        'refused',
        'another command for this pipeline ran at the same time, and this one changed nothing: run it again',
        { cause: error },
      );
    const what =
      failure === 'unknown'
        ? 'it is not known whether the command was written: run it again'
        : 'the command was not written';
    const kind = failure === 'rejected' || failure === 'too_large' ? 'refused' : 'unreachable';
    throw new InspectError(kind, `${what}: ${message}`, { cause: error });
  } finally {
    await producer.close();
  }
}

async function answered(
  tools: ControlTools,
  readers: Readers,
  { revision, scopes }: Control,
  { command, type }: GivenCommand,
  { timeoutMs, onProgress, signal }: Waiting,
): Promise<readonly [ControlOutcome, readonly ShardAnswer[]]> {
  const { clock, pipeline, scan } = tools;
  const startedMs = clock.monotonic();
  const { untilMs = Infinity } =
    scopes.find((scope) => command !== 'resume' && scope.type === type) ?? {};
  let attendedMs = startedMs;
  let confirmed = false;
  for (;;) {
    const journals = await readAll(readers, 'stable');
    const answers = journals.map((journal) => answerOf(journal, revision, command, type));
    onProgress(answers);
    // Behind an open transaction the command itself may not be readable yet.
    if (newestOf(journals).revision > revision) return ['superseded', answers];
    if (clock.now() >= untilMs) return ['ended', answers];
    if (answers.every(({ reached }) => reached)) {
      // Partitions are read one after the other. What was acknowledged holds until a newer command:
      // when all say so again, there was a moment at which it was true of all.
      if (confirmed) return ['reached', answers];
      confirmed = true;
      continue;
    }
    confirmed = false;
    const nowMs = clock.monotonic();
    if ((await scan.group(pipeline.group)).members > 0) attendedMs = nowMs;
    if (signal.aborted) return ['interrupted', answers];
    if (nowMs - attendedMs >= UNATTENDED_MS) return ['unattended', answers];
    if (nowMs - startedMs >= timeoutMs) return ['late', answers];
    await clock.sleep(LOOK_MS, signal).catch(() => undefined);
  }
}

function answerOf(
  { shard, state: { acknowledged = NO_ACKNOWLEDGEMENT, jobs } }: ShardJournal,
  revision: number,
  command: GivenCommand['command'],
  type: string | undefined,
): ShardAnswer {
  const live = [...jobs.values()].filter(
    ({ record }) => type === undefined || record.type === type,
  );
  const obeyed =
    command === 'pause'
      ? obeys(acknowledged, { type, state: 'paused' })
      : command === 'resume' ||
        (live.length === 0 && obeys(acknowledged, { type, state: 'draining' }));
  return {
    shard,
    reached: acknowledged.revision === revision && obeyed,
    liveJobs: live.length,
    unsettled: live.reduce((sum, { left }) => sum + left.size, 0),
  };
}

export async function readAll(readers: Readers, to: 'stable' | 'end'): Promise<ShardJournal[]> {
  const journals: ShardJournal[] = [];
  await eachAtATime(readers.entries(), async ([shard, read]) => {
    journals[shard] = await read(to);
  });
  return journals;
}

/**
 * The newest commands in any partition: a reader may see those of one partition before another's. A stand-in lacks the
 * scopes that have ended by its owner's clock.
 */
export const newestOf = (journals: readonly ShardJournal[]): Control =>
  journals
    .map(({ state }) => state)
    .sort((a, b) => b.control.revision - a.control.revision || +a.isStandIn - +b.isStandIn)[0]
    ?.control ?? NO_CONTROL;

/**
 * Shards whose command cannot be read or is not the newest, since something else has written to the journal.
 * @param newest of an earlier reading, if commands may have been written during this one
 */
export const withOtherCommands = (
  journals: readonly ShardJournal[],
  newest = newestOf(journals),
): readonly number[] =>
  journals.flatMap(({ shard, state: { control, isControlSpoilt }, isAtEnd }) => {
    const isKnown = isAtEnd && control.revision <= newest.revision;
    const isOther = isKnown && JSON.stringify(control) !== JSON.stringify(newest);
    return isOther || isControlSpoilt ? shard : [];
  });
