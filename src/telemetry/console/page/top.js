/** Writes the top of the page: the pipelines, their verdicts, and the figures of the shown one. */
import { silenceMs } from './causes.js';
import { commandLine } from './command.js';
import { attr, each, el, make, say } from './dom.js';
import { age, ago, bytes, capital, clock, count, placeOf } from './format.js';
import { verdictsOf, worstOf } from './verdicts.js';

/**
 * @typedef {import('../state.ts').ConsoleState} State
 * @typedef {import('./verdicts.js').Verdict} Verdict
 */

/** Shape and words beside the colour. */
export const LEVELS = {
  good: { mark: '●', words: 'nothing needs attention' },
  warn: { mark: '◆', words: 'needs attention' },
  bad: { mark: '■', words: 'needs attention now' },
};
const STAGES = /** @type {const} */ ({
  buffered: 'buffered',
  creating: 'waiting to be created',
  uploading: 'uploading',
  reviewing: 'in review',
  settling: 'settling',
  retrying: 'to be retried',
});

/** @param {State} state */
export function showAbout({ version, nowMs, startedMs, detail, memory }) {
  const parts = [
    `version ${version}`,
    `up ${age(nowMs - startedMs)}`,
    `memory ${bytes(memory.usedBytes)} of ${bytes(memory.budgetBytes)}`,
  ];
  if (detail.instance !== null) parts.push(`instance ${detail.instance.slice(0, 8)}`);
  say(el('about'), parts.join(' · '));
}

/** Tabs, each with the state of its pipeline. @param {State} state @returns {keyof typeof LEVELS} the worst state */
export function showPipelines(state) {
  const { pipelines, detail } = state;
  const nav = el('pipelines');
  nav.hidden = pipelines.length < 2;
  const levels = new Map(pipelines.map(({ name }) => [name, worstOf(verdictsOf(state, name))]));
  each(
    /** @type {Element} */ (nav.firstElementChild),
    pipelines,
    ({ name }) => name,
    ({ name }) =>
      make(
        'li',
        {},
        make(
          'a',
          { href: `#pipeline=${encodeURIComponent(name)}` },
          make('i', { 'aria-hidden': 'true' }),
          make('span', {}, name),
          make('span', { class: 'unseen' }),
        ),
      ),
    (li, { name }) => {
      const link = /** @type {Element} */ (li.firstElementChild);
      const level = levels.get(name) ?? 'good';
      const { mark, words } = LEVELS[level];
      attr(link, 'class', level);
      attr(link, 'title', `${name}: ${words}`);
      say(/** @type {Element} */ (link.children[0]), mark);
      say(/** @type {Element} */ (link.children[2]), `, ${words}`);
      if (name === detail.name) attr(link, 'aria-current', 'page');
      else link.removeAttribute('aria-current');
    },
  );
  const all = [...levels.values()];
  return all.includes('bad') ? 'bad' : all.includes('warn') ? 'warn' : 'good';
}

/** @param {readonly Verdict[]} verdicts @param {State} state */
export function showVerdicts(verdicts, state) {
  const { nowMs, detail } = state;
  const list = el('attention');
  list.hidden = verdicts.length === 0;
  each(
    list,
    verdicts,
    ({ key }) => key,
    () =>
      make(
        'li',
        {},
        make('b'),
        ' ',
        make('span', { class: 'since' }),
        make('span'),
        make(
          'span',
          { class: 'next' },
          make('a', { target: '_blank', rel: 'noreferrer' }),
          make('code'),
          make('code'),
        ),
      ),
    (li, { level, title, text, sinceMs, runbook, words, key, of = [] }) => {
      attr(li, 'class', level);
      const [name, since, body, next] = /** @type {[Element, Element, Element, Element]} */ (
        /** @type {unknown} */ ([...li.children])
      );
      say(name, title);
      say(since, sinceMs === null ? '' : `for ${age(nowMs - sinceMs)}`);
      say(body, text);
      const [link, code, explain] = /** @type {[HTMLElement, HTMLElement, HTMLElement]} */ (
        /** @type {unknown} */ ([...next.children])
      );
      attr(link, 'href', `${state.runbook}${runbook}.md`);
      say(link, 'Runbook');
      attr(link, 'aria-label', `Runbook: ${title}`);
      const first = oldestOf(detail.jobs, [key, ...of]);
      say(code, commandLine(state, words));
      explain.hidden = first === null;
      if (first !== null) say(explain, commandLine(state, ['explain', placeOf(first)]));
    },
  );
}

/** Record of the oldest batch that a verdict concerns. @param {State['detail']['jobs']} jobs @param {readonly string[]} keys */
function oldestOf(jobs, keys) {
  const [key = ''] = keys;
  const job = key.startsWith('type/')
    ? jobs.find(({ type }) => key === `type/${type}`)
    : ['service', 'key', 'storage'].includes(key) || key.startsWith('wait/')
      ? jobs[0]
      : undefined;
  return job?.first ?? null;
}

/** Facts under the verdict, with their age. @param {State} state */
export function showFacts(state) {
  const { brokers, service, nowMs } = state;
  const silent = silenceMs(state);
  const facts = [
    silent >= 1_000
      ? `no response from Kafka for ${age(silent)}`
      : brokers.heardAgoMs === null
        ? ''
        : `Kafka responded ${ago(brokers.heardAgoMs)}`,
    service.answeredMs === null
      ? `${service.origin} has not responded yet`
      : `${service.origin} responded ${ago(nowMs - service.answeredMs)}`,
    `state of ${clock(nowMs, nowMs)}`,
  ];
  say(el('facts'), capital(facts.filter((fact) => fact !== '').join(' · ')));
}

/** @param {State} state */
export function showFigures(state) {
  const { nowMs, detail } = state;
  const summary = state.pipelines.find(({ name }) => name === detail.name);
  if (summary === undefined) return;
  const { oldestEventMs, balance, lag, inFlight, records } = summary;
  say(el('f-oldest'), oldestEventMs === null ? 'none' : age(nowMs - oldestEventMs));
  say(
    el('n-oldest'),
    oldestEventMs === null
      ? 'every consumed record is decided'
      : `received ${clock(oldestEventMs, nowMs)}`,
  );
  say(el('f-balance'), count(balance));
  attr(el('f-balance'), 'class', balance !== null && balance !== 0 ? 'bad' : '');
  say(
    el('n-balance'),
    balance === null
      ? 'not known yet'
      : balance === 0
        ? 'all records accounted for'
        : 'records not accounted for',
  );
  say(el('f-lag'), lag === null ? 'unknown' : count(lag));
  attr(el('f-lag'), 'class', lag === null ? 'unknown' : '');
  say(
    el('n-lag'),
    lag === null ? 'no recent measurement' : lag === 0 ? 'caught up' : 'records not read yet',
  );
  say(el('f-flight'), count(inFlight));
  const stages = /** @type {(keyof typeof STAGES)[]} */ (Object.keys(STAGES))
    .filter((stage) => records[stage] > 0)
    .map((stage) => `${count(records[stage])} ${STAGES[stage]}`);
  say(el('n-flight'), inFlight === 0 ? 'nothing in flight' : stages.join(', '));
}
