/**
 * Causes of trouble, in the order of cause and consequence: each hides what follows from it. Pure.
 */

import { capital, clock, count, counted, duration, percent } from './format.js';
import { REASONS } from './reasons.js';

/**
 * @typedef {import('../state.ts').ConsoleState} State
 * @typedef {State['pipelines'][number]} Pipeline
 * @typedef {{ state: State, pipeline: Pipeline, nowMs: number, waits: ReadonlyMap<string, Pipeline['waits'][number]>, conditions: ReadonlyMap<string, string> }} Facts
 * @typedef {{ level: 'bad' | 'warn', key: string, of?: readonly string[], title: string, text: string, sinceMs: number | null, runbook: string, words: readonly string[] }} Verdict
 * @typedef {Pick<Verdict, 'key' | 'title' | 'text' | 'runbook'> & Partial<Verdict>} Found with the members of DEFAULTS where they differ
 *   `of`: other keys by which a cause can hide it; `runbook`: page; `words`: command that lists the records concerned
 * @typedef {{ hides: readonly string[], find: (facts: Facts) => readonly Found[] }} Cause
 */

/** Shorter waits are not shown. */
const LASTING_MS = 5_000;
/** Longer silence of the brokers is one: fetches are answered within a second. */
const SILENCE_MS = 4_000;
/** Failures of a call that no success follows within this time are more than one lost answer. */
const FAILING_MS = 2_000;
/** Conditions that a start needs time for. */
const STARTING_MS = 20_000;
/** Dead letters of a minute that are too few to judge by. */
const MIN_LETTERS = 3;
/** Shares of dead letters that are never and always worth a look, and the multiple of the usual one. */
const LETTERS = { never: 0.01, much: 0.05, times: 3 };
/** Calls to the storage, which is not at the service's address. */
const STORAGE = /^(upload|download)$/;
const STALLED = ['wait/in_flight', 'wait/memory'];

/**
 * True for an unmet condition of the service that was tried, not one of the first moments.
 * @param {string | undefined} reason
 */
const isKnown = (reason) => reason !== undefined && !/^not (reached|tried) yet/.test(reason);

/** @type {Pick<Verdict, 'level' | 'sinceMs' | 'words'>} */
export const DEFAULTS = { level: 'bad', sinceMs: null, words: ['journal'] };

/** @type {readonly Cause[]} */
export const CAUSES = [
  {
    hides: ['condition/group', 'condition/shards', 'wait/kafka', ...STALLED],
    find: ({ state, nowMs }) => {
      const { silent, brokers, heardMs } = silence(state);
      if (silent.length === 0 || silent.length < brokers) return [];
      return [
        {
          ...{ key: 'kafka', runbook: 'ContentReviewKafkaSilent', words: ['doctor'] },
          title: 'No Kafka broker has responded',
          text: `${silent.join(', ')}${heardMs === null ? '' : `, last heard at ${clock(heardMs, nowMs)}`}. Nothing is lost: reading and publishing continue once a broker responds.`,
          sinceMs: nowMs - silenceMs(state),
        },
      ];
    },
  },
  {
    hides: ['wait/kafka'],
    find: ({ state }) => {
      const { silent, brokers } = silence(state);
      if (silent.length === 0 || silent.length === brokers) return [];
      return [
        {
          ...{ level: 'warn', key: 'broker', runbook: 'ContentReviewKafkaSilent' },
          title: `${count(silent.length)} of ${counted(brokers, 'Kafka broker')} ${silent.length === 1 ? 'does' : 'do'} not respond`,
          text: `${silent.join(', ')}. Partitions that ${silent.length === 1 ? 'it leads' : 'they lead'} wait; the others continue.`,
        },
      ];
    },
  },
  {
    hides: ['condition/shards', 'wait/kafka'],
    find: (facts) => condition(facts, 'group'),
  },
  {
    hides: [
      ...['wait/service', 'type_blocked', 'condition/service', 'condition/api-key'],
      ...STALLED,
    ],
    find: (facts) => {
      const { state, nowMs, waits } = facts;
      const { origin, failing } = state.service;
      const [call] = failing.filter(
        ({ operation, kind, sinceMs, times }) =>
          !STORAGE.test(operation) &&
          kind !== 'refused' &&
          (times > 1 || nowMs - sinceMs >= LASTING_MS) &&
          nowMs - sinceMs >= FAILING_MS,
      );
      const wait = lasting(waits.get('service'), nowMs);
      const isUnmet = isKnown(facts.conditions.get('service'));
      if (call === undefined && wait === undefined && !isUnmet) return [];
      const isInvalid = call?.kind === 'invalid';
      return [
        {
          ...{ key: 'service', runbook: 'ContentReviewServiceUnavailable' },
          title: isInvalid
            ? `The service at ${origin} sends invalid responses`
            : `The service at ${origin} is unavailable`,
          text: `${call === undefined ? 'Calls get no usable response.' : lastError(call, nowMs)} ${isInvalid ? 'A proxy may respond in its place. ' : ''}Nothing is lost; calls are retried.`,
          sinceMs: call?.sinceMs ?? wait?.sinceMs ?? null,
        },
      ];
    },
  },
  {
    hides: ['wait/unauthorized', 'condition/service', 'condition/api-key', ...STALLED],
    find: ({ state, nowMs, waits, conditions }) => {
      const { origin, failing } = state.service;
      const call = failing.find(
        ({ operation, kind }) => kind === 'refused' && !STORAGE.test(operation),
      );
      const wait = waits.get('unauthorized');
      const isUnmet = isKnown(conditions.get('api-key'));
      if (call === undefined && wait === undefined && !isUnmet) return [];
      return [
        {
          ...{ key: 'key', runbook: 'ContentReviewUnauthorized' },
          // The condition alone may follow from a service that is unreachable.
          of: call === undefined && wait === undefined ? ['condition/api-key'] : [],
          title: `The service at ${origin} refuses the API key`,
          text: `${call === undefined ? '' : `${lastError(call, nowMs)} `}Check the key; a rotated key file is reloaded automatically.`,
          sinceMs: call?.sinceMs ?? wait?.sinceMs ?? null,
        },
      ];
    },
  },
  {
    hides: ['wait/transfer'],
    find: ({ state, nowMs }) =>
      state.service.failing
        .filter(
          ({ operation, sinceMs, times }) =>
            STORAGE.test(operation) && times > 1 && nowMs - sinceMs >= FAILING_MS,
        )
        .slice(0, 1)
        .map((call) => ({
          ...{ level: 'warn', key: 'storage', runbook: 'ContentReviewServiceUnavailable' },
          title: 'The storage of the service is unavailable',
          text: `${lastError(call, nowMs)} Calls are retried.`,
          sinceMs: call.sinceMs,
        })),
  },
  {
    hides: ['wait/schema_registry', 'condition/schema registry', 'condition/schemas'],
    find: (facts) =>
      [
        ...condition(facts, 'schema registry', 'ContentReviewSchemaRegistryUnavailable'),
        ...waitOf(facts, 'schema_registry'),
      ].slice(0, 1),
  },
  {
    hides: [],
    find: ({ state, pipeline: { name } }) =>
      state.stuck
        .filter((loop) => isAbout(state, name, loop.name))
        .map(({ name: loop, seconds, reason }) => ({
          ...{ key: `stuck/${loop}`, runbook: 'ContentReviewLoopStuck' },
          title: `${loop} is stuck`,
          text: `No progress for ${duration(seconds)}. ${reason}`,
        })),
  },
  {
    hides: [],
    find: ({ pipeline: { name, balance } }) =>
      balance === null || balance === 0
        ? []
        : [
            {
              ...{ key: 'balance', runbook: 'ContentReviewBalanceBroken' },
              title: `${name} is out of balance by ${count(balance)}`,
              text: 'Some consumed records are not accounted for.',
              words: ['audit'],
            },
          ],
  },
  {
    hides: [],
    find: (facts) => [...facts.conditions.keys()].flatMap((name) => condition(facts, name)),
  },
  {
    hides: ['wait/paused', ...STALLED],
    find: ({ pipeline: { control, name } }) =>
      control === null
        ? []
        : [
            {
              ...{ level: 'warn', key: 'control', runbook: 'ContentReviewIntakeStopped' },
              title: `The pipeline is ${control.state === 'draining' ? 'being drained' : control.state}`,
              text: `By ${control.by}${control.reason === null ? '' : `: ${control.reason}`}.`,
              sinceMs: control.sinceMs,
              words: ['resume', name],
            },
          ],
  },
  {
    hides: ['wait/type_blocked'],
    find: ({ pipeline, nowMs }) =>
      pipeline.breakers.map(({ type, reason, failures, nextTryMs }) => {
        const failed =
          failures > 0 ? ` ${counted(failures, 'batch', 'batches')} failed in a row.` : '';
        const next =
          nextTryMs > nowMs
            ? ` Next probe in ${duration((nextTryMs - nowMs) / 1000)}.`
            : ' A probe batch is under way.';
        return {
          ...{ level: 'warn', key: `type/${type}`, of: [`wait/${reason}`, reason] },
          title: `Type ${type} is blocked`,
          text: `${REASONS[reason]?.title ?? reason}.${failed}${next}`,
          runbook: 'ContentReviewTypePaused',
        };
      }),
  },
  {
    hides: [],
    find: ({ pipeline: { letters: minute } }) => {
      const { letters, records, reasons } = minute;
      const usual = minute.usual ?? 0;
      const share = letters / Math.max(1, records);
      const much = Math.min(LETTERS.much, Math.max(LETTERS.never, LETTERS.times * usual));
      if (letters < MIN_LETTERS || share <= much) return [];
      const named = reasons.map(({ reason, letters: n }) => `${reason} (${count(n)})`).join(', ');
      return [
        {
          ...{ level: 'warn', key: 'letters', runbook: 'ContentReviewDeadLetters' },
          title: `${count(letters)} of ${counted(records, 'record')} of the last minute became dead letters`,
          text: `${named}. ${minute.usual === null ? '' : `In the hour before: ${percent(usual)}.`}`,
          words: [
            ...['dead-letters', 'list', '--since', '2m'],
            ...reasons.flatMap(({ reason }) => ['--reason', reason]),
          ],
        },
      ];
    },
  },
  {
    hides: [],
    find: (facts) => [...facts.waits.keys()].flatMap((reason) => waitOf(facts, reason)),
  },
];

/** Least silence of a broker, ms; 0 while one responds. @param {State} state */
export function silenceMs({ brokers: { brokers } }) {
  return brokers.length === 0 ? 0 : Math.min(...brokers.map(({ silentMs }) => silentMs));
}

/** @param {State} state */
function silence({ brokers: { brokers, heardAgoMs }, nowMs }) {
  const silent = brokers.filter(({ silentMs }) => silentMs >= SILENCE_MS);
  return {
    silent: silent.map(({ address }) => address),
    brokers: brokers.length,
    heardMs: heardAgoMs === null ? null : nowMs - heardAgoMs,
  };
}

/** True for conditions and loops of the pipeline, and for those of no pipeline. @param {State} state @param {string} name @param {string} what */
export const isAbout = ({ pipelines }, name, what) =>
  what.startsWith(`${name}/`) || !pipelines.some((one) => what.startsWith(`${one.name}/`));

/** @param {Facts} facts @param {string} name @returns {readonly Found[]} */
function condition(
  { state, pipeline, nowMs, waits, conditions },
  name,
  page = 'ContentReviewNotReady',
) {
  const reason = conditions.get(name);
  if (reason === undefined) return [];
  const isStarting =
    nowMs - state.startedMs < STARTING_MS && /^(joining|claiming|looking)/.test(reason);
  const isClaiming = /^claiming/.test(reason) && !lasting(waits.get('kafka'), nowMs);
  if (isStarting || isClaiming || name === 'started') return [];
  const isOwn = state.conditions.some((one) => one.name === `${pipeline.name}/${name}`);
  return [
    {
      ...{ key: `condition/${name}`, runbook: page },
      title: `Not ready: ${isOwn ? `${pipeline.name}/` : ''}${name}`,
      text: capital(reason),
    },
  ];
}

/** @param {Facts} facts @param {string} reason @returns {readonly Found[]} */
function waitOf({ waits, nowMs }, reason) {
  const wait = lasting(waits.get(reason), nowMs);
  const known = REASONS[reason];
  if (wait === undefined || known?.level === 'calm') return [];
  const { who, waiting, sinceMs } = wait;
  const more = waiting > who.length ? ` and ${count(waiting - who.length)} more` : '';
  return [
    {
      ...{ level: 'warn', key: `wait/${reason}`, sinceMs },
      title: known?.title ?? reason,
      text: `${known?.text ?? ''} Waiting: ${who.join(', ')}${more}.`.trim(),
      runbook: known?.runbook ?? 'ContentReviewStalled',
    },
  ];
}

/** @template {{ sinceMs: number }} T @param {T | undefined} wait @param {number} nowMs */
export const lasting = (wait, nowMs) =>
  wait !== undefined && nowMs - wait.sinceMs >= LASTING_MS ? wait : undefined;

/** @param {State['service']['failing'][number]} call @param {number} nowMs */
const lastError = ({ operation, error, times, lastMs }, nowMs) =>
  `Last error: ${/^\d+$/.test(error) ? `HTTP ${error}` : error} from ${operation} at ${clock(lastMs, nowMs)}, ${counted(times, 'failure')} in a row.`;
