/** Carries out one visit: victims die, a successor takes over, and everything that can be seen from outside is collected. */
import type { FaultInput } from '../../../src/sandbox/faults/schema.ts';
import { Complaints } from '../../chaos/judge/complaints.ts';
import { liveJobKeys } from '../../chaos/judge/judge.ts';
import type { Produced } from '../../chaos/judge/judge-records.ts';
import { judgeSilence } from '../../chaos/judge/judge-silence.ts';
import { Witness } from '../../chaos/judge/witness.ts';
import { RETURNED_HEADERS } from '../../chaos/load/hostile-parts.ts';
import { eventually } from '../eventually.ts';
import { type TestKafka, uniqueName } from '../kafka/kafka.ts';
import { CANARY } from '../stack/canary.ts';
import {
  createStack,
  type LogLine,
  parseLogLine,
  type Replica,
  type SandboxProcess,
  type Stack,
} from '../stack/stack.ts';
import { groupPositions, sandboxBatches, sandboxFaults } from '../stack/stack-control.ts';
import { TerminalRecords } from '../stack/terminal-records.ts';
import type { ReadRecord } from '../stack/topic-reader.ts';
import { importsSubmitted, writeOthers } from './other-events.ts';
import { CRASH_NTH, CRASH_POINT, type CrashPoint, type LastWords } from './points.ts';
import { SITUATIONS, type Situation, type Submitted, type Visit } from './visits.ts';

const TEST_BUILD = new URL('./connector.ts', import.meta.url).pathname;
const PARTITIONS = 2;
/** Far longer than anything takes. */
const DEADLINE_MS = 90_000;

/** A visit with a content type of its own, by which the sandbox's data and faults are told apart. */
export interface Rehearsal {
  readonly visit: Visit;
  readonly type: string;
}

export const rehearsalOf = (visit: Visit, index: number): Rehearsal => ({
  visit,
  type: `visit-${index + 1}`,
});

type Environment = Readonly<Record<string, string>>;

/** Its part of the sandbox's script. The first entry does nothing but count PUTs. */
export function faultsOf({ visit, type }: Rehearsal): FaultInput[] {
  if (visit.kind !== 'review')
    return [{ operation: 'upload_import', action: 'latency', delay: '0ms', times: 'always' }];
  const { faults = [] }: Situation = SITUATIONS[visit.situation];
  const count: FaultInput = {
    operation: 'upload',
    action: 'latency',
    delay: '0ms',
    times: 'always',
  };
  return [count, ...faults].map((fault) => ({ ...fault, match: { type } }));
}

export interface SourceEvent {
  readonly partition: number;
  readonly offset: number;
  /** undefined for a record that cannot be decoded. */
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

export interface Death {
  readonly point: CrashPoint;
  readonly words: LastWords;
  /** Records of the journal that no consumer sees: those of an open or aborted transaction. */
  readonly uncommitted: number;
}

/** Shared set-up of all visits of a file. */
export interface Stage {
  readonly kafka: TestKafka;
  readonly sandbox: SandboxProcess;
  /** Compiled code: most of the time of a short process is its start. */
  readonly compileCache: string;
}

export interface Findings {
  /** Events of a review. */
  readonly events: readonly SourceEvent[];
  /** Complaints about another kind's records and about leftovers of a review. */
  readonly complaints: readonly string[];
  readonly deaths: readonly Death[];
  readonly terminal: TerminalRecords;
  readonly submitted: Submitted;
  /** From the last death until everything was settled, ms. */
  readonly recoveryMs: number;
}

/** @throws Error when a victim does not die at its point, or when not everything is settled in time. */
export async function rehearse(
  { kafka, sandbox, compileCache }: Stage,
  directory: string,
  { visit, type }: Rehearsal,
): Promise<Findings> {
  const env = { NODE_COMPILE_CACHE: compileCache };
  const situation: Situation = SITUATIONS[visit.situation];
  const { kind } = visit;
  const stack = await createStack(kafka, directory, sandbox, {
    partitions: PARTITIONS,
    decisionPartitions: 1,
    pipeline: { ...pipelineOf(situation), kind },
    // One batch at a time is on its way, so that a crash meets exactly one.
    config: { service: { concurrency: { transfers: 1 } }, log: { level: 'debug' } },
  });
  const events: SourceEvent[] = [];
  const others: Produced[] = [];
  const write = async (count: number, extra = { poison: 0, empty: 0 }) => {
    if (kind === 'review') events.push(...(await writeEvents(kafka, stack, type, count, extra)));
    else {
      const amount = { partitions: PARTITIONS, count, poison: extra.poison, from: others.length };
      others.push(...(await writeOthers(kafka, stack, kind, amount)));
    }
  };
  const deaths: Death[] = [];
  try {
    if (situation.replica !== undefined) await startOwner(stack, env);
    if (situation.replica !== 'idle') await write(situation.events[0], situation);
    if (situation.replica === 'at work')
      await allUploaded(stack, type, situation.submitted.uploads / 2);
    for (const death of visit.deaths) {
      const victim = await startVictim(stack, env, death);
      if (situation.replica === 'idle') {
        await victim.logged('owns the shard');
        await write(situation.events[0], situation);
      }
      deaths.push(await deathOf(kafka, stack, victim, death[0]));
    }
    const diedMs = performance.now();
    if (situation.replica === undefined) {
      const successor = await stack.startReplica(env);
      await within('the successor owns the shard', successor, successor.logged('owns the shard'));
    }
    await write(situation.events[1]);
    const terminal = new TerminalRecords(kafka, stack);
    await terminal.untilCount(events.length + others.length, DEADLINE_MS);
    await journalEmpty(kafka, stack);
    const atEnd = async () =>
      (await groupPositions(kafka, stack)).every(({ committed, end }) => committed === end);
    await eventually('the group has committed its source to the end', atEnd, {
      deadlineMs: DEADLINE_MS,
      everyMs: 50,
    });
    const recoveryMs = performance.now() - diedMs;
    await end(stack);
    // No writer is left: this is the last look.
    await terminal.refresh();
    const [pipeline] = stack.pipelines;
    const complaints =
      kind === 'review' || pipeline === undefined
        ? await leaks(kafka, stack)
        : await new Witness(kafka, pipeline, kind, others).complaints(stack.sandboxUrl);
    const submitted =
      kind === 'review' ? await submittedOf(stack, type) : await importsSubmitted(stack);
    return { events, complaints, deaths, terminal, submitted, recoveryMs };
  } finally {
    await end(stack);
  }
}

function pipelineOf({ maxRows, replica }: Situation): Record<string, unknown> {
  return {
    name: uniqueName('visit'),
    source: { nullValues: 'skip' },
    output: { headers: [...RETURNED_HEADERS] },
    batch: { maxRows, maxAge: '10m' },
    journal: { partitions: replica === undefined ? 1 : PARTITIONS },
    review: { poll: { initial: '50ms', max: '300ms' } },
    // The broker would end an open transaction long after this test: only the successor's fence can.
    kafka: {
      sessionTimeout: '1500ms',
      heartbeat: '400ms',
      transactionTimeout: '5m',
      progressInterval: '300ms',
    },
  };
}

/** Returns leaked secrets of a review; the witness of the other kinds checks them too. */
async function leaks(kafka: TestKafka, { topics }: Stack): Promise<string[]> {
  const [journal, outputs, deadLetters] = await Promise.all([
    kafka.readAll(topics.journal, { uncommitted: true }),
    kafka.readAll(topics.decisions),
    kafka.readAll(topics.deadLetters),
  ]);
  const complaints = new Complaints();
  judgeSilence({ kind: 'review', journal, outputs, deadLetters }, complaints);
  return complaints.list();
}

/** Every partition gets the same, one record after the other. */
async function writeEvents(
  kafka: TestKafka,
  stack: Stack,
  type: string,
  count: number,
  { poison, empty }: { readonly poison: number; readonly empty: number },
): Promise<SourceEvent[]> {
  const records = Array.from({ length: PARTITIONS }, (_, partition) => [
    ...Array.from({ length: count }, (_, n) => {
      const metadata = {
        n,
        partition,
        zip: '007',
        nested: { tags: ['a', null, 1.5] },
        text: 'line\r\n"quoted", =1+1',
        Status: '',
      };
      return {
        partition,
        key: `k${n}`,
        value: JSON.stringify({ type, content: `${CANARY.content} ${n}`, metadata }),
        metadata,
      };
    }),
    ...Array.from({ length: poison }, (_, n) => ({
      partition,
      key: 'poison',
      value: `no JSON ${CANARY.content} ${n}`,
      metadata: undefined,
    })),
    ...Array.from({ length: empty }, () => ({
      partition,
      key: 'empty',
      value: null,
      metadata: undefined,
    })),
  ]).flat();
  const where = await kafka.write(
    stack.topics.source,
    records.map(({ partition, key, value }) => ({ partition, key, value })),
  );
  // Records without a value have no terminal record: the configuration skips them.
  return records.flatMap(({ value, metadata }, n) =>
    value === null ? [] : [{ ...(where[n] as SourceEvent), metadata }],
  );
}

/** A replica of the product that owns both shards. */
async function startOwner(stack: Stack, env: Environment): Promise<void> {
  const replica = await stack.startReplica(env);
  const owns = (shard: number) =>
    replica.logged('owns the shard', { where: (line) => line.shard === shard });
  await within('the replica owns both shards', replica, Promise.all([owns(0), owns(1)]));
}

function startVictim(
  stack: Stack,
  env: Environment,
  [point, nth]: Visit['deaths'][number],
): Promise<Replica> {
  return stack.startReplica({ ...env, [CRASH_POINT]: point, [CRASH_NTH]: String(nth) }, [
    TEST_BUILD,
  ]);
}

async function deathOf(
  kafka: TestKafka,
  stack: Stack,
  victim: Replica,
  point: CrashPoint,
): Promise<Death> {
  const { signal } = await within(`it dies at ${point}`, victim, victim.process.exited);
  const words = victim.lines
    .map(parseLogLine)
    .find((line): line is LogLine & LastWords => line?.msg === 'dies here');
  if (signal !== 'SIGKILL' || words?.point !== point)
    throw new Error(`it did not die at ${point}:\n${lastLines(victim)}`);
  const all = await kafka.readAll(stack.topics.journal, { uncommitted: true });
  return {
    point,
    words,
    uncommitted: all.length - (await kafka.readAll(stack.topics.journal)).length,
  };
}

async function journalEmpty(kafka: TestKafka, stack: Stack): Promise<void> {
  const reader = kafka.reader(stack.topics.journal);
  const journal: ReadRecord[] = [];
  const empty = async () => {
    journal.push(...(await reader.readToEnd()));
    return liveJobKeys(journal).length === 0;
  };
  await eventually('no job is live in the journal', empty, {
    deadlineMs: DEADLINE_MS,
    everyMs: 50,
  });
}

async function allUploaded(stack: Stack, type: string, uploads: number): Promise<void> {
  const uploaded = async () => (await submittedOf(stack, type)).uploads === uploads;
  await eventually('every batch is uploaded', uploaded, { deadlineMs: DEADLINE_MS, everyMs: 50 });
}

async function submittedOf(stack: Stack, type: string): Promise<Submitted> {
  const batches = (await sandboxBatches(stack)).batches.filter((batch) => batch.type === type);
  const counter = (await sandboxFaults(stack)).find(
    ({ fault }) => fault.action === 'latency' && fault.match.type === type,
  );
  return {
    batches: batches.length,
    puts: counter?.fired ?? 0,
    uploads: batches.filter(({ uploaded }) => uploaded !== null).length,
    rows: batches.reduce((sum, { rows }) => sum + rows, 0),
  };
}

/** The sandbox is shared: only the replicas end. */
async function end(stack: Stack): Promise<void> {
  await Promise.all(stack.replicas.map(({ process }) => process.stop(0)));
}

async function within<T>(what: string, replica: Replica, wait: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`waited in vain until ${what}:\n${lastLines(replica)}`)),
    DEADLINE_MS,
  );
  try {
    return await Promise.race([wait, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const lastLines = ({ lines }: Replica): string => lines.slice(-20).join('\n');
