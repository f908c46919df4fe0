/** Renders the page from the state. Strings become text nodes, never markup. */
import { age, ago, bytes, clock, count, rate } from './format.js';
import { h } from './preact.js';

/**
 * @typedef {import('../state.ts').ConsoleState} State
 * @typedef {State['detail']} Detail
 * @typedef {import('./preact.js').ComponentChildren} Children
 */

/** Mark and words of a level, which accompany its colour. */
const LEVELS = {
  good: { mark: '●', words: 'nothing needs attention' },
  warn: { mark: '◆', words: 'needs attention' },
  bad: { mark: '■', words: 'needs attention now' },
};
/** Mark and words of every pipeline while the connector does not respond. */
const UNKNOWN = { mark: '○', words: 'state unknown' };
const PHASES = {
  buffered: 'buffered',
  creating: 'waiting to be created',
  uploading: 'uploading',
  reviewing: 'in review',
  settling: 'settling',
  retrying: 'to be retried',
};
const QUOTA = {
  rowsPerMinute: 'in this minute',
  rowsPerDay: 'until midnight UTC',
  rowsUnderReview: 'until reviews end',
};
const SHARD_STATES = { owner: 'owned', claiming: 'claiming', lost: 'lost, to be reclaimed' };
/** Maximum number of shards for which the list is initially open. */
const OPEN_SHARDS = 12;
/** The event's age is shown if its batch was created more than this many ms later. */
const LATE_MS = 60_000;

/** @param {State | undefined} state @param {boolean} isSilent */
export function titleOf(state, isSilent) {
  const title = 'Content Review Connector';
  if (isSilent || state === undefined) return `■ no response – ${title}`;
  const levels = state.pipelines.map(({ level }) => level);
  const worst = levels.find((level) => level === 'bad') ?? levels.find((level) => level === 'warn');
  return `${worst === undefined ? '' : `${LEVELS[worst].mark} `}${state.detail.name} – ${title}`;
}

/**
 * @param {State | undefined} state last known state; undefined before the first response
 * @param {number | undefined} perSecond throughput
 * @param {number | undefined} heardMs time of the last response, if the connector does not respond
 */
export function pageOf(state, perSecond, heardMs) {
  if (state === undefined)
    return h('main', {}, verdict('bad', 'The connector does not respond', []));
  const { detail, nowMs, reload } = state;
  const isSilent = heardMs !== undefined;
  const { level, text, causes } = detail.verdict;
  return h('div', { class: isSilent ? 'stale' : '' }, [
    header(state, isSilent),
    h('main', {}, [
      isSilent
        ? verdict('bad', `No response since ${clock(heardMs, Date.now())}`, [])
        : verdict(level, text, causes),
      isSilent
        ? h('p', { class: 'note' }, `The state below is ${age(Date.now() - heardMs)} old.`)
        : causes.map((cause) => attention(cause, state)),
      reload.applied !== '' &&
        h(
          'p',
          { id: 'reload', class: 'note' },
          `Configuration reloaded ${ago(nowMs - reload.appliedMs)}: ${reload.applied}.`,
        ),
      tiles(detail, perSecond, nowMs),
      batches(detail, nowMs),
      h('div', { class: 'pair' }, [outcomes(detail), problems(state)]),
      shards(detail, nowMs),
    ]),
  ]);
}

/** @param {State} state @param {boolean} isSilent */
function header({ version, nowMs, startedMs, memory, detail, pipelines }, isSilent) {
  const about = [
    `version ${version}`,
    `up ${age(nowMs - startedMs)}`,
    `memory ${bytes(memory.usedBytes)} of ${bytes(memory.budgetBytes)}`,
    ...(detail.instance === null ? [] : [`instance ${detail.instance.slice(0, 8)}`]),
  ];
  const tab = (/** @type {State['pipelines'][number]} */ { name, level }) => {
    const { mark, words } = isSilent ? UNKNOWN : LEVELS[level];
    return h(
      'a',
      {
        key: name,
        href: `#pipeline=${encodeURIComponent(name)}`,
        class: isSilent ? '' : level,
        'aria-current': name === detail.name ? 'page' : undefined,
        title: `${name}: ${words}`,
      },
      h('i', { 'aria-hidden': true }, mark),
      name,
      h('span', { class: 'unseen' }, `, ${words}`),
    );
  };
  return h('header', {}, [
    h('h1', {}, 'Content Review Connector'),
    h('p', { id: 'about', class: 'note' }, about.join(' · ')),
    pipelines.length > 1 &&
      h('nav', { id: 'pipelines', 'aria-label': 'Pipelines' }, pipelines.map(tab)),
  ]);
}

/**
 * Renders the verdict. Screen readers announce its changes.
 * @param {keyof typeof LEVELS} level @param {string} text @param {Detail['verdict']['causes']} causes
 */
function verdict(level, text, causes) {
  const titles = causes.map(({ title }) => title);
  return [
    h('h2', { id: 'verdict', class: level }, [
      h('i', { 'aria-hidden': true }, LEVELS[level].mark),
      text,
    ]),
    h('p', { class: 'unseen', role: 'status' }, [text, ...titles].join('. ')),
  ];
}

/** @param {Detail['verdict']['causes'][number]} cause @param {State} state */
function attention({ level, title, text, sinceMs, runbook }, state) {
  const href = `${state.runbook}${runbook}.md`;
  return h('div', { class: `cause ${level}`, key: title }, [
    h('b', {}, title),
    sinceMs !== null && h('span', { class: 'note' }, ` for ${age(state.nowMs - sinceMs)}`),
    h('p', {}, text),
    h('a', { href, target: '_blank', rel: 'noreferrer', 'aria-label': `Runbook: ${title}` }, [
      'Runbook',
    ]),
  ]);
}

/** @param {Detail} detail @param {number | undefined} perSecond @param {number} nowMs */
function tiles({ oldestEventMs, balance, lag, inFlight, records, lanes, quota }, perSecond, nowMs) {
  /** @param {string} id @param {string} name @param {Children} value @param {Children} note @param {string} [tone] */
  const tile = (id, name, value, note, tone) =>
    h('div', {}, [
      h('dt', {}, name),
      h('dd', { id, class: tone }, value),
      h('dd', { class: 'note' }, note),
    ]);
  return h('dl', { class: 'tiles' }, [
    tile(
      'oldest',
      'Oldest undecided',
      oldestEventMs === null ? 'none' : age(nowMs - oldestEventMs),
      oldestEventMs === null ? 'all decided' : `received ${clock(oldestEventMs, nowMs)}`,
    ),
    tile(
      'balance',
      'Balance',
      count(balance),
      balance === 0 ? 'all records accounted for' : 'records not accounted for',
      balance === null || balance === 0 ? '' : 'bad',
    ),
    tile('throughput', 'Throughput', rate(perSecond), 'records decided or dead-lettered'),
    tile('lag', 'Lag', lag === null ? 'unknown' : count(lag), 'records not read yet'),
    tile('flight', 'In flight', count(inFlight), phases(records) || 'nothing in flight'),
    ...quota.map(({ limit, left, renewsMs }) => {
      const renewal = renewsMs === null ? '' : `, more in ${age(renewsMs)}`;
      return tile(`quota-${limit}`, 'Quota left', count(left), `rows ${QUOTA[limit]}${renewal}`);
    }),
    ...lanes.map(({ name, records, oldestEventMs }) =>
      tile(
        `lane-${name}`,
        `Lane ${name}`,
        oldestEventMs === null ? '–' : age(nowMs - oldestEventMs),
        `${count(records)} in flight`,
      ),
    ),
  ]);
}

/** @param {Detail} detail @param {number} nowMs */
function batches({ jobs, jobCount }, nowMs) {
  const shown =
    jobs.length < jobCount ? `the ${jobs.length} oldest of ${count(jobCount)}` : count(jobCount);
  return section('batches', 'Live batches', jobCount > 0 ? shown : '', [
    table('Live batches, oldest first', jobs, ({ shard, remoteId }) => `${shard} ${remoteId}`, [
      ['Batch', 'mono', ({ remoteId }) => remoteId],
      ['Type', '', ({ type }) => type],
      [
        'State',
        '',
        ({ phase, remoteState, askedMs }) => [
          PHASES[phase],
          remoteState !== null &&
            askedMs !== null &&
            h('small', {}, ` “${remoteState}” ${ago(nowMs - askedMs)}`),
        ],
      ],
      [
        'Age',
        'n',
        ({ createdMs, oldestEventMs }) => [
          age(nowMs - createdMs),
          createdMs - oldestEventMs > LATE_MS &&
            h('small', {}, ` event ${age(nowMs - oldestEventMs)}`),
        ],
      ],
      [
        'Rows left',
        'n',
        ({ left, rows }) => (left === rows ? count(rows) : `${count(left)} of ${count(rows)}`),
      ],
      ['Attempt', 'n', ({ attempt }) => count(attempt)],
      ['Shard', 'n', ({ shard }) => String(shard)],
      ['First record', 'n', ({ first }) => (first ? `${first.partition}:${first.offset}` : '–')],
    ]),
  ]);
}

/** @param {Detail} detail */
function outcomes({ outcomes }) {
  return section('outcomes', 'Decisions', '', [
    table('Outcomes of records', outcomes, ({ outcome }) => outcome, [
      ['Outcome', '', ({ outcome }) => outcome],
      ['Since start', 'n', ({ total }) => count(total)],
    ]),
  ]);
}

/** @param {State} state */
function problems({ problems, nowMs }) {
  /** @param {State['problems'][number]} problem */
  const item = ({ level, pipeline, message, reason, detail, count: times, firstMs, lastMs }) =>
    h('li', { class: level, key: JSON.stringify([level, pipeline, message, reason]) }, [
      h('time', { datetime: new Date(lastMs).toISOString() }, clock(lastMs, nowMs)),
      h('div', {}, [
        h('b', {}, level === 'error' ? 'error ' : 'warning '),
        [pipeline, message, reason].filter((part) => part !== null).join(': '),
        times > 1 &&
          h('span', { class: 'note' }, ` ${count(times)} times since ${clock(firstMs, nowMs)}`),
        h('p', { class: 'mono' }, detail),
      ]),
    ]);
  const list = h('ol', { tabIndex: 0, 'aria-label': 'Warnings and errors' }, problems.map(item));
  return section('problems', 'Recent warnings and errors', '', problems.length > 0 ? list : none());
}

/** @param {Detail} detail @param {number} nowMs */
function shards({ shards, shardCount, assigned, group, sourceTopic }, nowMs) {
  const here = shardCount === null ? '' : `${count(assigned)} of ${count(shardCount)}`;
  return section('shards', 'Shards of this instance', here, [
    h('p', { class: 'note' }, `Group ${group}, reading ${sourceTopic}.`),
    h('details', { open: shards.length <= OPEN_SHARDS }, [
      h('summary', {}, 'Shards'),
      table('Shards of this instance', shards, ({ shard }) => String(shard), [
        ['Shard', '', ({ shard }) => String(shard)],
        [
          'State',
          '',
          ({ state, failures }) => [
            SHARD_STATES[state],
            failures > 0 && h('small', {}, ` failed claims in a row: ${count(failures)}`),
          ],
        ],
        ['Owned for', 'n', (one) => (one.ownedSinceMs ? age(nowMs - one.ownedSinceMs) : '–')],
        ['Batches', 'n', ({ jobs }) => count(jobs)],
        ['In flight', 'n', ({ inFlight }) => count(inFlight)],
        ['Lag', 'n', ({ lag }) => (lag === null ? 'unknown' : count(lag))],
      ]),
    ]),
  ]);
}

const none = () => h('p', { class: 'note' }, 'None.');

/** @param {string} id @param {string} title @param {string} note @param {Children} children */
function section(id, title, note, children) {
  return h('section', { id, 'aria-labelledby': `h-${id}` }, [
    h('h2', { id: `h-${id}` }, [title, h('span', { class: 'note' }, ` ${note}`)]),
    children,
  ]);
}

/**
 * Renders a table, which scrolls in its box if it is wider than the screen.
 * @template T
 * @param {string} caption
 * @param {readonly T[]} rows
 * @param {(row: T) => string} keyOf
 * @param {readonly (readonly [heading: string, kind: string, cell: (row: T) => Children])[]} columns
 */
function table(caption, rows, keyOf, columns) {
  if (rows.length === 0) return none();
  const heads = columns.map(([heading, kind]) =>
    h('th', { scope: 'col', class: kind === 'n' ? 'n' : '' }, heading),
  );
  const line = (/** @type {T} */ row) =>
    h(
      'tr',
      { key: keyOf(row) },
      columns.map(([, kind, cell]) => h('td', { class: kind }, cell(row))),
    );
  const box = { class: 'wide', tabIndex: 0, role: 'region', 'aria-label': caption };
  return h(
    'div',
    box,
    h('table', {}, [h('thead', {}, h('tr', {}, heads)), h('tbody', {}, rows.map(line))]),
  );
}

/** @param {Detail['records']} records */
function phases(records) {
  return /** @type {(keyof typeof PHASES)[]} */ (Object.keys(PHASES))
    .filter((phase) => records[phase] > 0)
    .map((phase) => `${count(records[phase])} ${PHASES[phase]}`)
    .join(', ');
}
