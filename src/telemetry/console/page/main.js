/** Asks the connector every two seconds and shows its answer; says so when there is none, and goes on asking. */
import { attention, verdict } from './attention.js';
import { Chart, secondTicks } from './chart.js';
import { attr, el, say } from './dom.js';
import { startExplain } from './explain.js';
import { age, clock, compact, count, duration, rate } from './format.js';
import { History } from './history.js';
import {
  showAbout,
  showAttention,
  showBatches,
  showFigures,
  showMinutes,
  showOutcomes,
  showPipelines,
  showProblems,
  showShards,
} from './sections.js';

/** @typedef {import('../state.ts').ConsoleState} State */

const POLL_MS = 2_000;
const PATIENCE_MS = 5_000;
/** Said aloud at most so many at a time. */
const ANNOUNCED = 3;

/** @type {State | undefined} */
let last;
let heardMs = 0;
let history = new History();
let historyOf = '';
let announced = '';
let choice = '';
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** @type {AbortController | undefined} */
let asking;

const charts = {
  throughput: new Chart(el('c-throughput'), {
    title: 'Records per second',
    labels: ['taken in', 'decided'],
    format: rate,
    axis: compact,
  }),
  latency: new Chart(el('c-latency'), {
    title: 'Event to decision',
    labels: ['p50', 'p95'],
    format: duration,
    ticks: secondTicks,
  }),
  flight: new Chart(el('c-flight'), {
    title: 'Records not decided',
    labels: ['in flight', 'lag'],
    format: count,
    axis: compact,
  }),
};
const explain = startExplain(() => last);

/** The pipeline that the address names, or named last: other fragments lead to places of the page. */
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
    const name = chosen();
    const since = name === historyOf || name === '' ? history.lastMs : 0;
    const response = await fetch(`api/state?pipeline=${encodeURIComponent(name)}&since=${since}`, {
      signal: mine.signal,
      credentials: 'omit',
      cache: 'no-store',
    });
    if (!response.ok) throw new Error(`answered ${response.status}`);
    const state = /** @type {State} */ (await response.json());
    if (asking !== mine) return;
    heardMs = Date.now();
    show(state);
  } catch {
    if (asking !== mine) return;
    showSilence();
  } finally {
    clearTimeout(late);
    if (asking === mine) timer = setTimeout(poll, document.hidden ? 5 * POLL_MS : POLL_MS);
  }
}

/** @param {State} state */
function show(state) {
  // Another pipeline, or a connector that was started anew: what is remembered is of something else.
  if (
    state.detail.name !== historyOf ||
    (last !== undefined && last.startedMs !== state.startedMs)
  ) {
    history = new History();
    historyOf = state.detail.name;
  }
  history.add(state.detail.samples);
  last = state;
  document.body.classList.remove('stale');
  const items = attention(state);
  const { level, text } = verdict(state, items);
  attr(el('verdict'), 'class', `verdict ${level}`);
  say(el('verdict-text'), text);
  document.title = `${level === 'good' ? '' : level === 'warn' ? '◆ ' : '■ '}${state.detail.name} – Content Review Connector`;
  showAttention(items, state.nowMs);
  announce(
    items.length === 0
      ? text
      : `${text}: ${items
          .slice(0, ANNOUNCED)
          .map(({ title }) => title)
          .join('. ')}`,
  );
  say(el('heard'), '');
  showAbout(state);
  showPipelines(state);
  showFigures(state);
  charts.throughput.show(
    [history.rates('consumed'), history.rates('decided')],
    state.nowMs,
    history.windowMs,
  );
  charts.latency.show(
    [history.values('p50'), history.values('p95')],
    state.nowMs,
    history.windowMs,
  );
  charts.flight.show(
    [history.values('inFlight'), history.values('lag')],
    state.nowMs,
    history.windowMs,
  );
  showMinutes(history, state.nowMs);
  showBatches(state, explain.show);
  showOutcomes(state);
  showProblems(state);
  showShards(state);
  explain.update();
}

function showSilence() {
  document.body.classList.add('stale');
  attr(el('verdict'), 'class', 'verdict bad');
  const nowMs = Date.now();
  say(
    el('verdict-text'),
    heardMs === 0 ? 'No answer from the connector' : `No answer since ${clock(heardMs, nowMs)}`,
  );
  say(el('heard'), heardMs === 0 ? '' : `· as it was ${age(nowMs - heardMs)} ago`);
  el('attention').hidden = true;
  document.title = '■ no answer – Content Review Connector';
  announce(
    heardMs === 0
      ? 'No answer from the connector'
      : `No answer from the connector since ${clock(heardMs, nowMs)}`,
  );
}

/** Aloud, once for each change. @param {string} text */
function announce(text) {
  if (text === announced) return;
  announced = text;
  say(el('announce'), text);
}

addEventListener('hashchange', () => void poll());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void poll();
});
void poll();
