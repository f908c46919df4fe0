/** Verdicts about a pipeline: what needs a person's attention, one for each cause. Pure. */

import { CAUSES, DEFAULTS, isAbout, lasting, silenceMs } from './causes.js';
import { REASONS } from './reasons.js';

/**
 * @typedef {import('../state.ts').ConsoleState} State
 * @typedef {import('./causes.js').Facts} Facts
 * @typedef {import('./causes.js').Pipeline} Pipeline
 * @typedef {import('./causes.js').Verdict} Verdict
 */

/** Time without a response after which all is no longer known to be well. */
const UNSURE_MS = 1_000;

/** @param {State} state @param {string} [name] pipeline; default: the shown one @returns {Verdict[]} causes first */
export function verdictsOf(state, name = state.detail.name) {
  const facts = factsOf(state, name);
  /** @type {Verdict[]} */
  const verdicts = [];
  const hidden = new Set();
  for (const { hides, find } of CAUSES) {
    const found = find(facts).filter(({ key, of = [] }) =>
      [key, ...of].every((one) => !hidden.has(one)),
    );
    verdicts.push(...found.map((one) => ({ ...DEFAULTS, ...one })));
    // Found once, by the most specific cause.
    for (const { key } of found) hidden.add(key);
    if (found.length > 0) for (const key of hides) hidden.add(key);
  }
  return verdicts;
}

/** @param {readonly Verdict[]} verdicts @returns {'good' | 'warn' | 'bad'} */
export function worstOf(verdicts) {
  if (verdicts.some(({ level }) => level === 'bad')) return 'bad';
  return verdicts.length > 0 ? 'warn' : 'good';
}

/** One sentence. @param {State} state @param {readonly Verdict[]} verdicts @returns {{ level: 'good' | 'warn' | 'bad', text: string }} */
export function conclusion(state, verdicts) {
  if (verdicts.length > 0)
    return {
      level: worstOf(verdicts),
      text:
        verdicts.length === 1
          ? 'One thing needs attention'
          : `${verdicts.length} things need attention`,
    };
  if (state.conditions.some(({ name }) => isAbout(state, state.detail.name, name)))
    return { level: 'warn', text: 'Starting' };
  if (silenceMs(state) >= UNSURE_MS)
    return { level: 'warn', text: 'Waiting for a response from Kafka' };
  if (state.service.failing.some(({ sinceMs }) => state.nowMs - sinceMs >= UNSURE_MS))
    return { level: 'warn', text: 'Waiting for a response from the service' };
  const busy =
    state.detail.jobCount > 0 ||
    state.pipelines.some(({ inFlight, lag }) => inFlight > 0 || lag !== 0);
  // The state of other group members is not known here.
  const alone = state.pipelines.every(
    ({ shardCount, assigned }) => shardCount === null || assigned >= shardCount,
  );
  if (alone)
    return { level: 'good', text: busy ? 'All is well' : 'All is well, and nothing is pending' };
  return {
    level: 'good',
    text: busy
      ? 'All is well with this replica'
      : 'All is well with this replica, and nothing is pending here',
  };
}

/** Titles of the waits that are part of normal operation. @param {State} state */
export function calmWaits(state) {
  return state.detail.waits
    .filter(
      (wait) => REASONS[wait.reason]?.level === 'calm' && lasting(wait, state.nowMs) !== undefined,
    )
    .map(({ reason }) => REASONS[reason]?.title ?? reason);
}

/** @param {State} state @param {string} name @returns {Facts} */
function factsOf(state, name) {
  const pipeline = /** @type {Pipeline} */ (
    state.pipelines.find((one) => one.name === name) ?? state.pipelines[0]
  );
  const own = state.conditions.filter((one) => isAbout(state, pipeline.name, one.name));
  return {
    state,
    pipeline,
    nowMs: state.nowMs,
    waits: new Map(pipeline.waits.map((wait) => [wait.reason, wait])),
    conditions: new Map(own.map((one) => [one.name.replace(`${pipeline.name}/`, ''), one.reason])),
  };
}
