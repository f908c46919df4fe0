/** Polls the connector every second and shows its state, or that it does not respond. */
import { attr, el, say } from './dom.js';
import { age, clock, rate } from './format.js';
import { groupQuery, showGroup } from './group.js';
import { showBatches, showOutcomes, showProblems, showShards } from './sections.js';
import { Throughput } from './sparkline.js';
import { LEVELS, showAbout, showFacts, showFigures, showPipelines, showVerdicts } from './top.js';
import { conclusion, verdictsOf } from './verdicts.js';

/** @typedef {import('../state.ts').ConsoleState} State */

const POLL_MS = 1_000;
const HIDDEN_POLL_MS = 10_000;
const PATIENCE_MS = 3_000;
/** Items that a screen reader announces at a time. */
const ANNOUNCED = 3;

/** @type {State | undefined} */
let last;
let heardMs = 0;
let throughput = new Throughput();
let throughputOf = '';
let announced = '';
let choice = '';
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** @type {AbortController | undefined} */
let asking;

/** The pipeline that the fragment names or last named: other fragments are places of the page. */
function chosen() {
  const name = new URLSearchParams(location.hash.slice(1)).get('pipeline');
  if (name !== null) choice = name;
  return choice;
}

async function poll() {
  clearTimeout(timer);
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  const late = setTimeout(() => mine.abort(), PATIENCE_MS);
  try {
    const response = await fetch(
      `api/state?pipeline=${encodeURIComponent(chosen())}${groupQuery()}`,
      {
        signal: mine.signal,
        credentials: 'omit',
        cache: 'no-store',
      },
    );
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const state = /** @type {State} */ (await response.json());
    if (asking !== mine) return;
    heardMs = Date.now();
    show(state);
  } catch {
    if (asking !== mine) return;
    showSilence();
  } finally {
    clearTimeout(late);
    if (asking === mine) timer = setTimeout(poll, document.hidden ? HIDDEN_POLL_MS : POLL_MS);
  }
}

/** @param {State} state */
function show(state) {
  const { name } = state.detail;
  // Another pipeline, or a restarted connector: its totals are others.
  if (name !== throughputOf || (last !== undefined && last.startedMs !== state.startedMs)) {
    throughput = new Throughput();
    throughputOf = name;
  }
  const summary = state.pipelines.find((one) => one.name === name);
  throughput.add({ atMs: state.nowMs, ended: summary?.ended ?? 0 });
  last = state;
  document.body.classList.remove('stale');
  const verdicts = verdictsOf(state);
  const { level, text } = conclusion(state, verdicts);
  attr(el('verdict'), 'class', `verdict ${level}`);
  say(el('verdict-text'), text);
  const worst = showPipelines(state);
  document.title = `${worst === 'good' ? '' : `${LEVELS[worst].mark} `}${name} – Content Review Connector`;
  showVerdicts(verdicts, state);
  showFacts(state);
  announce(
    verdicts.length === 0
      ? text
      : `${text}: ${verdicts
          .slice(0, ANNOUNCED)
          .map(({ title }) => title)
          .join('. ')}`,
  );
  say(el('heard'), '');
  showAbout(state);
  showFigures(state);
  say(el('f-rate'), throughput.perSecond === null ? '–' : `${rate(throughput.perSecond)}/s`);
  attr(el('spark'), 'points', throughput.points);
  showBatches(state);
  showOutcomes(state);
  showProblems(state);
  showShards(state);
  showGroup(state);
}

function showSilence() {
  document.body.classList.add('stale');
  attr(el('verdict'), 'class', 'verdict bad');
  const nowMs = Date.now();
  say(
    el('verdict-text'),
    heardMs === 0 ? 'The connector does not respond' : `No response since ${clock(heardMs, nowMs)}`,
  );
  say(el('heard'), heardMs === 0 ? '' : `· state of ${age(nowMs - heardMs)} ago`);
  el('attention').hidden = true;
  say(el('facts'), '');
  document.title = '■ no response – Content Review Connector';
  announce(
    heardMs === 0
      ? 'The connector does not respond'
      : `The connector has not responded since ${clock(heardMs, nowMs)}`,
  );
}

/** For screen readers, once for each change. @param {string} text */
function announce(text) {
  if (text === announced) return;
  announced = text;
  say(el('announce'), text);
}

addEventListener('hashchange', () => void poll());
el('d-group').addEventListener('toggle', () => void poll());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void poll();
});
void poll();
