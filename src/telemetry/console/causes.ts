/**
 * Verdict about a pipeline: the causes that need attention, from the conditions of /readyz and from
 * the wait reasons. A cause is listed once, even if both a condition and a wait report it.
 */
import type { PipelineView } from '../../core/pipeline-view.ts';

/** Wait reasons that are part of normal operation. */
export const NORMAL: ReadonlySet<string> = new Set(['memory', 'transfer', 'quota']);
/** Minimum duration of a wait that is shown. */
const LASTING_MS = 5_000;
/** Silence of all brokers that counts as an outage. Normally a fetch returns within a second. */
const SILENT_MS = 4_000;
/** Silence of all brokers after which the verdict can no longer be good. */
const UNSURE_MS = 1_000;
/** Reasons of conditions that are unmet during a start. They become causes after STARTING_MS. */
const STARTING = /^(joining|not (reached|tried) yet)/;
const STARTING_MS = 20_000;
/** Reason of a condition that is unmet only because shards are being claimed. */
const CLAIMING = /^claiming[^;]*$/;

export interface Cause {
  readonly level: 'warn' | 'bad';
  readonly title: string;
  readonly text: string;
  /** null if unknown. */
  readonly sinceMs: number | null;
  /** Name of the runbook's page. */
  readonly runbook: string;
}

export interface Verdict {
  readonly level: 'good' | Cause['level'];
  readonly text: string;
  readonly causes: readonly Cause[];
}

/** Results of reloads of the configuration. A text is empty if there is nothing to report. */
export interface ReloadView {
  /** Reason why the current file is rejected. */
  readonly problem: string;
  /** Changed options that require a restart. */
  readonly restart: string;
  /** Last applied changes, with both values, and their time. */
  readonly applied: string;
  readonly appliedMs: number;
}

export interface Facts {
  readonly view: PipelineView;
  readonly reload: ReloadView;
  /** Unmet conditions of the pipeline (without the pipeline's name) and of the process. */
  readonly conditions: readonly { readonly name: string; readonly reason: string }[];
  /** Shards of the pipeline whose Kafka transaction is overdue. */
  readonly stuck: readonly { readonly shard: string; readonly seconds: number }[];
  /** Balance of the pipeline. null before the first count. */
  readonly balance: number | null;
  /** Time in ms for which no broker has responded to requests. */
  readonly kafkaSilentMs: number;
  /** Time in ms since the start of the process. */
  readonly upMs: number;
  readonly nowMs: number;
}

interface Reason {
  readonly title: string;
  readonly text: string;
  readonly runbook: string;
}

/** Texts of the page for the wait reasons (docs/operating.md). */
export const REASONS: Readonly<Record<string, Reason>> = {
  kafka: {
    title: 'Kafka is slow',
    text: 'A request, a claim or the confirmation of a membership takes seconds, or a partition has no leader.',
    runbook: 'ContentReviewNotReady',
  },
  service: {
    title: 'The service is unavailable',
    text: 'It is unreachable, overloaded or sends unusable responses. Calls are retried.',
    runbook: 'ContentReviewServiceUnavailable',
  },
  api_key: {
    title: 'The service refuses the API key',
    text: 'Check the key. A rotated key file is reloaded automatically.',
    runbook: 'ContentReviewServiceUnavailable',
  },
  schema_registry: {
    title: 'The schema registry is unavailable',
    text: 'It is unreachable or refuses this connector. Requests are retried.',
    runbook: 'ContentReviewServiceUnavailable',
  },
  type_blocked: {
    title: 'A content type is blocked',
    text: 'The service refuses it, or its batches keep failing. One batch at a time is tried.',
    runbook: 'ContentReviewPaused',
  },
  paused: {
    title: 'Held by an operator',
    text: 'Run the resume command to continue.',
    runbook: 'ContentReviewPaused',
  },
  in_flight: {
    title: 'A partition is waiting for records under review',
    text: 'It has as many records in flight as source.maxInFlight allows: see the oldest batches.',
    runbook: 'ContentReviewEventTooOld',
  },
};

export function verdictOf(facts: Facts): Verdict {
  const { view } = facts;
  const causes = causesOf(facts);
  const only = (level: Verdict['level'], text: string) => ({ level, text, causes });
  if (causes.length > 0) {
    const level = causes.some((cause) => cause.level === 'bad') ? 'bad' : 'warn';
    const many = `${causes.length} things need attention`;
    return only(level, causes.length === 1 ? 'One thing needs attention' : many);
  }
  const [unmet] = facts.conditions;
  if (unmet !== undefined) return only('warn', `Not ready yet: ${unmet.reason}`);
  if (facts.kafkaSilentMs >= UNSURE_MS) return only('warn', 'Waiting for a response from Kafka');
  const isAlone = view.shardCount === null || view.assigned >= view.shardCount;
  return only('good', isAlone ? 'All is well' : 'All is well with this instance');
}

/** Returns the causes. For each wait reason, only the first cause is kept, because it is the most specific. */
function causesOf(facts: Facts): readonly Cause[] {
  const { view, conditions, stuck, balance, kafkaSilentMs, nowMs } = facts;
  const { problem, restart } = facts.reload;
  const found = new Map<string, Cause>();
  const add = (key: string, cause: Partial<Cause>) => {
    const { title = key, text = '', runbook = 'ContentReviewNotReady' } = REASONS[key] ?? {};
    const sinceMs = view.waits.find(({ reason }) => reason === key)?.sinceMs ?? null;
    if (!found.has(key)) found.set(key, { level: 'bad', title, text, runbook, sinceMs, ...cause });
  };
  if (kafkaSilentMs >= SILENT_MS)
    add('kafka', {
      title: 'No Kafka broker responds',
      text: 'Nothing is lost: reading and publishing continue once a broker responds.',
      sinceMs: nowMs - kafkaSilentMs,
    });
  for (const { name, reason } of conditions) {
    const isStarting = STARTING.test(reason);
    if (CLAIMING.test(reason) || (isStarting && facts.upMs < STARTING_MS)) continue;
    const level = isStarting ? 'warn' : 'bad';
    const text = capital(reason);
    if (name !== 'kafka' && name in REASONS) add(name, { level, text });
    else add(name, { level, title: `Not ready: ${name}`, text });
  }
  for (const { shard, seconds } of stuck)
    add(`stuck/${shard}`, {
      title: `${shard} is stuck`,
      text: 'A Kafka transaction gets no response. A restart ends it.',
      sinceMs: nowMs - seconds * 1_000,
    });
  if (balance !== null && balance !== 0)
    add('balance', {
      title: `${view.name} is out of balance by ${balance}`,
      text: 'Some consumed records are not accounted for: run the audit command.',
      runbook: 'ContentReviewBalanceBroken',
    });
  if (view.control !== null) {
    const { state, by, reason, sinceMs } = view.control;
    const title = `The pipeline is ${state === 'draining' ? 'being drained' : state}`;
    const text = `By ${by}${reason === null ? '' : `: ${reason}`}. Run the resume command to continue.`;
    add('paused', { level: 'warn', title, text, sinceMs });
  }
  // While a probe is under review, there is no wait for the blocked type, but the type is still blocked.
  const blocked = view.breakers.filter(({ reason }) => reason === 'type_blocked');
  if (blocked.length > 0) {
    const types = blocked.map(({ type, failures }) => `${type} (failures in a row: ${failures})`);
    add('type_blocked', {
      level: 'warn',
      title: blocked.length === 1 ? `Type ${blocked[0]?.type} is blocked` : 'Types are blocked',
      text: `${REASONS.type_blocked?.text} ${types.join(', ')}.`,
    });
  }
  for (const wait of view.waits) {
    const { reason, who, waiting } = wait;
    if (NORMAL.has(reason) || nowMs - wait.sinceMs < LASTING_MS) continue;
    const more = waiting > who.length ? ` and ${waiting - who.length} more` : '';
    const text = `${REASONS[reason]?.text ?? ''} Waiting: ${who.join(', ')}${more}.`;
    add(reason, { level: 'warn', text: text.trim() });
  }
  // A partition with too many records in flight is a consequence of the other causes.
  if (found.size > 1) found.delete('in_flight');
  if (problem || restart)
    add('reload', {
      level: 'warn',
      title: problem ? 'The configuration file is rejected' : 'A restart is required',
      text: problem || `These options have changed in the file: ${restart}.`,
      runbook: '../operating',
    });
  return [...found.values()];
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
