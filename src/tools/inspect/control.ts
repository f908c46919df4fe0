/** Operator commands: writes them to every shard of a pipeline, and waits until the owners acknowledge them. */
import {
  type Control,
  commanded,
  type GivenCommand,
  obeys,
  revisionAfter,
} from '../../core/journal/control.ts';
import { writeControl } from '../../core/journal/journal-records.ts';
import { type ControlProducer, TransactionError } from '../../core/ports/kafka.ts';
import { InspectError, type Inspection } from './context.ts';
import { journalReader, newestOf, readAll, type ShardJournal } from './shard-journal.ts';

export interface ControlTools extends Inspection {
  /** Opens the producer of commands. The caller must close it. */
  openControl(shards: readonly number[]): ControlProducer;
}

/** Outcome of a command. */
export type ControlOutcome =
  /** Every owner has acknowledged it: the pipeline is paused, drained or resumed. */
  | 'reached'
  /** The command is in the journal, but the program did not wait for it. */
  | 'written'
  /** A newer command has been given since. */
  | 'superseded'
  /** Not every owner has acknowledged it, because of a timeout, an interrupted wait, or no running replica. */
  | 'unfinished';

export interface ShardAnswer {
  readonly shard: number;
  readonly reached: boolean;
  readonly liveJobs: number;
  readonly unsettled: number;
}

export interface ControlReport {
  readonly outcome: ControlOutcome;
  /** False if the pipeline already had this state. */
  readonly changed: boolean;
  /** With `unfinished`: true if the group had a member at the end of the wait. */
  readonly attended?: boolean;
  /** State after the command. */
  readonly control: Control;
  readonly shards: readonly ShardAnswer[];
}

export interface Waiting {
  /** Maximum wait. 0 to return without waiting. */
  readonly timeoutMs: number;
  readonly onProgress: (shards: readonly ShardAnswer[]) => void;
  /** Ends the wait when aborted. The command stays in effect. */
  readonly signal: AbortSignal;
}

const LOOK_MS = 500;
/** Time without a group member after which all replicas are assumed to be stopped. A restart takes less time. */
const UNATTENDED_MS = 10_000;

type Readers = readonly ReturnType<typeof journalReader>[];

/** Gives a command, and waits until all owners have acknowledged it. @throws InspectError */
export async function giveCommand(
  tools: ControlTools,
  given: GivenCommand,
  waiting: Waiting,
): Promise<ControlReport> {
  const { pipeline, scan } = tools;
  const shards = [...(await scan.bounds(pipeline.topics.journal)).keys()];
  const readers = shards.map((shard) => journalReader(tools, shard));
  const { control, changed } = await write(tools, shards, readers, given);
  const report = (
    outcome: ControlOutcome,
    answers: readonly ShardAnswer[] = [],
    attended?: boolean,
  ) => ({
    outcome,
    changed,
    ...(attended !== undefined && { attended }),
    control,
    shards: answers,
  });
  // If there has never been a command, there is nothing to acknowledge.
  if (waiting.timeoutMs === 0 || control.revision === 0) return report('written');
  const [outcome, answers, attended] = await answered(tools, readers, control, given, waiting);
  return report(outcome, answers, attended);
}

/** Fences earlier producers before it reads and writes. Of two simultaneous commands, one is refused. */
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
    // Another program may have written to the journal.
    const isReadEverywhere = journals.every(
      ({ state: { control, isControlSpoilt } }) =>
        !isControlSpoilt && JSON.stringify(control) === JSON.stringify(before),
    );
    const nowMs = tools.clock.now();
    const control =
      commanded(before, given, nowMs) ??
      (isReadEverywhere ? undefined : { ...before, revision: revisionAfter(before, nowMs) });
    if (control === undefined) return { control: before, changed: false };
    await producer.commit({ journal: [writeControl(control)] });
    return { control, changed: true };
  } catch (error) {
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
  control: Control,
  { command }: GivenCommand,
  { timeoutMs, onProgress, signal }: Waiting,
): Promise<readonly [ControlOutcome, readonly ShardAnswer[], attended?: boolean]> {
  const { clock, pipeline, scan } = tools;
  const startedMs = clock.monotonic();
  let attendedMs = startedMs;
  let confirmed = false;
  for (;;) {
    const journals = await readAll(readers, 'stable');
    const answers = journals.map((journal) => answerOf(journal, control, command));
    onProgress(answers);
    // While an earlier transaction is open, even the new command cannot be read.
    if (newestOf(journals).revision > control.revision) return ['superseded', answers];
    if (answers.every(({ reached }) => reached)) {
      // Partitions are read one after the other. An acknowledgement holds until a newer command, so
      // if a second reading confirms all of them, they were all in effect at the same time.
      if (confirmed) return ['reached', answers];
      confirmed = true;
      continue;
    }
    confirmed = false;
    const nowMs = clock.monotonic();
    const isAttended = (await scan.members(pipeline.group)) > 0;
    if (isAttended) attendedMs = nowMs;
    const isOver = nowMs - startedMs >= timeoutMs || nowMs - attendedMs >= UNATTENDED_MS;
    if (isOver || signal.aborted) return ['unfinished', answers, isAttended];
    await clock.sleep(LOOK_MS, signal).catch(() => undefined);
  }
}

function answerOf(
  { shard, state: { acknowledged, jobs } }: ShardJournal,
  { revision, hold }: Control,
  command: GivenCommand['command'],
): ShardAnswer {
  const live = [...jobs.values()];
  const obeyed =
    acknowledged !== undefined &&
    obeys(acknowledged, hold?.state) &&
    (command !== 'drain' || live.length === 0);
  return {
    shard,
    reached: acknowledged?.revision === revision && obeyed,
    liveJobs: live.length,
    unsettled: live.reduce((sum, { left }) => sum + left.size, 0),
  };
}
