/** Items of a state that need a person's attention. Pure. */

import { commandLine } from './command.js';
import { count, counted, duration } from './format.js';
import { REASONS } from './reasons.js';

/**
 * @typedef {import('../state.ts').ConsoleState} State
 * @typedef {{ level: 'bad' | 'warn', key: string, title: string, text: string, sinceMs: number | null }} Item
 */

/** Shorter waits are not shown. */
const LASTING_MS = 5_000;

/** @param {State} state @returns {Item[]} the worst first */
export function attention(state) {
  const { detail, nowMs } = state;
  /** @type {Item[]} */
  const items = [];
  for (const { name, seconds, reason } of state.stuck)
    items.push({
      level: 'bad',
      key: `stuck ${name}`,
      title: `${name} is stuck`,
      text: `No progress for ${duration(seconds)}. ${reason}`,
      sinceMs: null,
    });
  for (const { name, balance } of state.pipelines)
    if (balance !== null && balance !== 0)
      items.push({
        level: 'bad',
        key: `balance ${name}`,
        title: `${name} is out of balance by ${count(balance)}`,
        text: `Some consumed records are not accounted for. Run this where the connector runs: ${commandLine(state, ['audit'], name)}`,
        sinceMs: null,
      });
  // The refused API key is both a condition and a wait reason: shown once.
  const refused = state.conditions.some(({ name }) => name === `${detail.name}/service`);
  const refusedSinceMs =
    detail.waits.find(({ reason }) => reason === 'unauthorized')?.sinceMs ?? null;
  for (const { name, reason } of state.conditions) {
    const sinceMs = name === `${detail.name}/service` ? refusedSinceMs : null;
    items.push({
      level: 'bad',
      key: `condition ${name}`,
      title: `Not ready: ${name}`,
      text: capital(reason),
      sinceMs,
    });
  }
  for (const breaker of detail.breakers) {
    const known = REASONS[breaker.reason];
    const failed =
      breaker.failures > 0
        ? ` ${counted(breaker.failures, 'batch', 'batches')} failed in a row.`
        : '';
    const next =
      breaker.nextTryMs > nowMs
        ? ` Next probe in ${duration((breaker.nextTryMs - nowMs) / 1000)}.`
        : ' A probe batch is under way.';
    items.push({
      level: 'warn',
      key: `breaker ${breaker.type}`,
      title: `Type ${breaker.type} is blocked`,
      text: `${known?.title ?? breaker.reason}.${failed}${next}`,
      sinceMs: null,
    });
  }
  for (const { reason, sinceMs, waiting, who } of detail.waits) {
    const known = REASONS[reason];
    if (
      known?.level === 'calm' ||
      nowMs - sinceMs < LASTING_MS ||
      (reason === 'unauthorized' && refused)
    )
      continue;
    if (detail.breakers.length > 0 && (reason === 'type_failing' || reason === 'type_rejected'))
      continue;
    const more = waiting > who.length ? ` and ${count(waiting - who.length)} more` : '';
    items.push({
      level: 'warn',
      key: `wait ${reason}`,
      title: known?.title ?? reason,
      text: `${known?.text ?? ''} Waiting: ${who.join(', ')}${more}.`.trim(),
      sinceMs,
    });
  }
  return items.sort((a, b) => Number(b.level === 'bad') - Number(a.level === 'bad'));
}

/** Titles of the waits that are part of normal operation. @param {State} state */
export function calmWaits(state) {
  return state.detail.waits
    .filter(
      ({ reason, sinceMs }) =>
        REASONS[reason]?.level === 'calm' && state.nowMs - sinceMs >= LASTING_MS,
    )
    .map(({ reason }) => REASONS[reason]?.title ?? reason);
}

/** One sentence. @param {State} state @param {Item[]} items @returns {{ level: 'good' | 'warn' | 'bad', text: string }} */
export function verdict(state, items) {
  const things =
    items.length === 1 ? 'One thing needs attention' : `${items.length} things need attention`;
  if (items.length > 0)
    return { level: items.some(({ level }) => level === 'bad') ? 'bad' : 'warn', text: things };
  if (!state.ready) return { level: 'warn', text: 'Starting' };
  const busy =
    state.detail.jobCount > 0 || state.pipelines.some(({ inFlight, lag }) => inFlight + lag > 0);
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

/** @param {string} text */
const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
