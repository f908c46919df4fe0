/** Form that searches for records and shows their fate, and the command that does the same. */
import { commandLine } from './command.js';
import { el, make, say } from './dom.js';
import { age, clock, counted } from './format.js';

/** @typedef {'record' | 'key' | 'where' | 'decision'} By */
/** @typedef {{ by: By, text: string, hours: string }} Question */

const EXAMPLES = /** @type {Record<By, string>} */ ({
  record: '2:1371, or an event id',
  key: 'user-7',
  where: 'metadata.post == 42',
  decision: "result == 'spam'",
});

/**
 * @param {Question} question
 * @returns {string | null} the mistake; null if there is none
 */
export function mistakeIn({ by, text }) {
  if (text === '') return `enter a value, such as ${EXAMPLES[by]}`;
  if (by === 'record' && !/^\d{1,10}:\d{1,15}$|.-\d{1,10}-\d{1,15}(#\d{1,10})?$/.test(text))
    return 'a record is partition:offset, such as 2:1371, or an event id, such as content-events-2-1371';
  return null;
}

/** @param {Question} question @param {import('./command.js').CommandState} state */
export function explainCommand({ by, text, hours }, state) {
  const condition = by === 'key' ? `--key=${text}` : `--where=${text}`;
  const words =
    by === 'record'
      ? [text]
      : [...(by === 'decision' ? ['--decisions'] : []), condition, '--since', `${hours}h`];
  return commandLine(state, ['explain', ...words]);
}

/** @param {Question} question @param {string} pipeline */
export function explainQuery({ by, text, hours }, pipeline) {
  const name = by === 'decision' ? 'where' : by;
  return new URLSearchParams({
    pipeline,
    [name]: text,
    ...(by === 'decision' ? { on: 'decisions' } : {}),
    ...(by === 'record' ? {} : { hours }),
  });
}

/** Headers with a password, in UTF-8. @param {string} password @returns {Record<string, string>} */
export function loginOf(password) {
  const bytes = new TextEncoder().encode(`console:${password}`);
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
}

/** @param {() => import('../state.ts').ConsoleState | undefined} state the latest state; undefined before the first */
export function startExplain(state) {
  const input = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (el(id));
  /** @type {AbortController | undefined} */
  let searching;
  const question = () => ({
    by: /** @type {By} */ (input('x-by').value),
    text: input('x-text').value.trim(),
    hours: input('x-hours').value,
  });
  const update = () => {
    const [last, asked] = [state(), question()];
    const mistake = mistakeIn(asked);
    input('x-text').placeholder = EXAMPLES[asked.by];
    el('x-time').hidden = asked.by === 'record';
    el('x-login').hidden = last?.search !== 'password';
    el('x-search').hidden = last === undefined || last.search === 'off';
    say(
      el('x-off'),
      last?.search === 'off'
        ? 'The search is off: http.search, and http.password unless http.host is a loopback address, turn it on. This command answers instead; run it where the connector runs.'
        : 'The same as a command, for the place where the connector runs:',
    );
    say(el('x-command'), last === undefined ? '–' : (mistake ?? explainCommand(asked, last)));
    /** @type {HTMLButtonElement} */ (el('x-copy')).disabled =
      last === undefined || mistake !== null;
  };
  const run = async () => {
    const [last, asked] = [state(), question()];
    const mistake = mistakeIn(asked);
    if (last === undefined || last.search === 'off') return;
    if (mistake !== null) {
      say(el('x-note'), mistake);
      return;
    }
    const mine = new AbortController();
    searching = mine;
    say(el('x-search'), 'Cancel');
    say(el('x-note'), 'Searching…');
    el('x-answers').replaceChildren();
    try {
      const response = await fetch(`api/explain?${explainQuery(asked, last.detail.name)}`, {
        headers: last.search === 'password' ? loginOf(input('x-password').value) : {},
        signal: mine.signal,
        credentials: 'omit',
        cache: 'no-store',
      });
      const answer = await response.json();
      say(el('x-note'), response.ok ? showAnswer(answer, Date.now()) : refusal(answer));
    } catch {
      say(el('x-note'), mine.signal.aborted ? 'Cancelled.' : 'The connector does not respond.');
    } finally {
      searching = undefined;
      say(el('x-search'), 'Explain');
    }
  };
  el('explain-form').addEventListener('input', () => {
    if (searching === undefined) say(el('x-note'), '');
    update();
  });
  el('explain-form').addEventListener('submit', (event) => {
    event.preventDefault();
    if (searching === undefined) void run();
    else searching.abort();
  });
  el('x-copy').addEventListener('click', () => {
    const last = state();
    if (last !== undefined)
      void copy(explainCommand(question(), last)).then((done) =>
        say(el('x-note'), done ? 'Copied.' : 'Selected: copy it with the keyboard.'),
      );
  });
  update();
  return {
    update,
    /** @param {{ partition: number, offset: number }} record */
    show({ partition, offset }) {
      input('x-by').value = 'record';
      input('x-text').value = `${partition}:${offset}`;
      update();
      el('explain').scrollIntoView({ block: 'center' });
      const target = state()?.search === 'off' ? 'x-copy' : 'x-search';
      el(target).focus({ preventScroll: true });
      if (state()?.search === 'open' && searching === undefined) void run();
    },
  };
}

/** @param {{ reason?: string }} answer */
const refusal = ({ reason = 'see the log of the connector' }) =>
  `No answer: ${reason.replace(/\.$/, '')}.`;

/** The clipboard is not available over plain HTTP, except on localhost. @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(el('x-command'));
    return false;
  }
}

/** @typedef {import('../../../tools/inspect/explain/explanation.ts').Explanation} Explanation */
/** @typedef {Partial<import('../../../tools/inspect/explain/search.ts').SearchReport> & { records: readonly Explanation[] }} ExplainAnswer */

/** Shows the records. @param {ExplainAnswer} answer @param {number} nowMs @returns {string} the conclusion */
function showAnswer(answer, nowMs) {
  el('x-answers').replaceChildren(
    ...answer.records.map((record) => {
      const list = make('dl');
      for (const [name, text] of factsOf(record, nowMs))
        list.append(make('dt', {}, name), make('dd', {}, text));
      const place = make('code', {}, `${record.partition}:${record.offset}`);
      return make('li', {}, make('p', {}, place, ` ${record.summary}`), list);
    }),
  );
  return conclusionOf(answer);
}

/** @param {ExplainAnswer} answer */
export function conclusionOf({ on, matching, searched = 0, records, notes = [] }) {
  if (matching === undefined) return '';
  const noun = on === 'decisions' ? 'decision' : 'event';
  const found =
    matching === 0
      ? `No ${noun} of this time matches`
      : `${counted(matching, `${noun} matches`, `${noun}s match`)}${matching > records.length ? `, the newest ${records.length} shown` : ''}`;
  return [`${found}; ${counted(searched, 'record')} read.`, ...notes.map((one) => `${one}.`)].join(
    ' ',
  );
}

/** @param {Explanation} record @param {number} nowMs @returns {[string, string][]} */
export function factsOf({ source, jobs, terminals, notes }, nowMs) {
  const when = (/** @type {number} */ ms) => `${clock(ms, nowMs)} (${age(nowMs - ms)} ago)`;
  return [
    .../** @type {[string, string][]} */ (
      source.timestampMs === null
        ? []
        : [['event', `${counted(source.valueBytes ?? 0, 'byte')}, ${when(source.timestampMs)}`]]
    ),
    ...jobs.map(
      ({ attempt, remoteId, type, count, createdMs, live, service }) =>
        /** @type {[string, string]} */ ([
          `attempt ${attempt}`,
          `batch ${remoteId}, type ${type}, ${counted(count, 'row')}, created ${when(createdMs)}${live ? ', live' : ''}${service === null ? '' : `, at the service: ${service.status}`}`,
        ]),
    ),
    ...terminals.map(
      ({ kind, decision, deadLetter, topic, partition, offset, timestampMs, eventId }) =>
        /** @type {[string, string]} */ ([
          kind.replace('_', ' '),
          [
            deadLetter === null
              ? [decision?.status ?? 'unreadable', decision?.result ?? '']
                  .filter((part) => part !== '')
                  .join(' ')
              : `${deadLetter.reason} at ${deadLetter.stage}`,
            `${topic} ${partition}:${offset}`,
            when(timestampMs),
            `event id ${eventId}`,
          ].join(', '),
        ]),
    ),
    ...notes.map((note) => /** @type {[string, string]} */ (['note', note])),
  ];
}
