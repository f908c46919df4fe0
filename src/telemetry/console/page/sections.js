/** Writes a state into the page, section by section. */
import { commandLine } from './command.js';
import { attr, body, cell, each, el, fill, make, row, say } from './dom.js';
import { age, ago, clock, count, counted, placeOf } from './format.js';
import { calmWaits } from './verdicts.js';

/**
 * @typedef {import('../state.ts').ConsoleState} State
 */

const PHASES = {
  uploading: 'uploading',
  reviewing: 'in review',
  settling: 'settling',
  retrying: 'to be retried',
};

/** More are shown on request. */
const FIRST_BATCHES = 12;
let allBatches = false;
/** A longer list starts closed. */
const OPEN_SHARDS = 12;
let shardsSeen = false;

/** @param {State} state */
export function showBatches(state) {
  const { detail, nowMs } = state;
  const { jobCount, phases } = detail;
  const jobs = allBatches ? detail.jobs : detail.jobs.slice(0, FIRST_BATCHES);
  const rest = detail.jobs.length - FIRST_BATCHES;
  const more = el('more-batches');
  more.hidden = rest <= 0;
  say(more, allBatches ? 'Show fewer' : `Show ${count(rest)} more`);
  attr(more, 'aria-expanded', String(allBatches));
  more.onclick = () => {
    allBatches = !allBatches;
    showBatches(state);
  };
  say(
    el('k-batches'),
    jobCount === 0
      ? ''
      : detail.jobs.length < jobCount
        ? `the ${detail.jobs.length} oldest of ${count(jobCount)}`
        : count(jobCount),
  );
  const parts = /** @type {(keyof typeof PHASES)[]} */ (Object.keys(PHASES))
    .filter((phase) => phases[phase] > 0)
    .map((phase) => `${count(phases[phase])} ${PHASES[phase]}`);
  say(el('p-phases'), [...parts, ...calmWaits(state)].join(' · '));
  el('t-batches').hidden = jobs.length === 0;
  el('e-batches').hidden = jobs.length > 0;
  each(
    body('t-batches'),
    jobs,
    (job) => `${job.shard} ${job.remoteId}`,
    () => row('t-batches'),
    (tr, job) => {
      const heard =
        job.remoteState === null || job.askedMs === null
          ? ''
          : `“${job.remoteState}” ${ago(nowMs - job.askedMs)}`;
      fill(tr, [
        job.remoteId,
        job.type,
        [PHASES[job.phase], heard, job.phase === 'retrying' ? 'warn' : ''],
        [
          age(nowMs - job.createdMs),
          job.createdMs - job.oldestEventMs > 60_000
            ? `event ${age(nowMs - job.oldestEventMs)}`
            : '',
        ],
        job.left === job.rows ? count(job.rows) : `${count(job.left)} of ${count(job.rows)}`,
        count(job.attempt),
        String(job.shard),
        job.first === null ? '–' : placeOf(job.first),
      ]);
      attr(cell(tr, 5), 'class', job.attempt > 1 ? 'n warn' : 'n');
    },
  );
}

/** @param {State} state */
export function showOutcomes({ detail: { outcomes } }) {
  el('t-outcomes').hidden = outcomes.length === 0;
  el('e-outcomes').hidden = outcomes.length > 0;
  each(
    body('t-outcomes'),
    outcomes,
    ({ outcome }) => outcome,
    () => make('tr', {}, make('th', { scope: 'row' }), make('td', { class: 'n' })),
    (tr, { outcome, total }) => {
      say(cell(tr, 0), outcome.replaceAll('_', ' '));
      say(cell(tr, 1), count(total));
    },
  );
}

/** @param {State} state */
export function showProblems({ problems, nowMs }) {
  el('e-problems').hidden = problems.length > 0;
  const list = el('problems');
  list.hidden = problems.length === 0;
  each(
    list,
    problems,
    ({ level, pipeline, message, reason }) => JSON.stringify([level, pipeline, message, reason]),
    ({ level }) =>
      make(
        'li',
        { class: level },
        make('time'),
        make(
          'div',
          {},
          make(
            'p',
            {},
            make('span', { class: 'level' }, level === 'error' ? 'error ' : 'warning '),
            make('span'),
            make('span', { class: 'times' }),
          ),
          make('p', { class: 'detail' }),
        ),
      ),
    (li, { message, reason, detail, pipeline, count: times, firstMs, lastMs }) => {
      const time = /** @type {HTMLTimeElement} */ (li.querySelector('time'));
      say(time, clock(lastMs, nowMs));
      attr(time, 'datetime', new Date(lastMs).toISOString());
      const spans = li.querySelectorAll('span');
      say(
        /** @type {Element} */ (spans[1]),
        `${pipeline === null ? '' : `${pipeline}: `}${message}${reason === null ? '' : `: ${reason.replaceAll('_', ' ')}`}`,
      );
      say(
        /** @type {Element} */ (spans[2]),
        times > 1 ? ` ${count(times)} times since ${clock(firstMs, nowMs)}` : '',
      );
      say(/** @type {Element} */ (li.querySelector('.detail')), detail);
    },
  );
  // A list that scrolls must be reachable by keyboard.
  if (list.scrollHeight > list.clientHeight) attr(list, 'tabindex', '0');
  else list.removeAttribute('tabindex');
}

/** @param {State} state */
export function showShards(state) {
  const { detail, nowMs } = state;
  const { shards, shardCount, assigned, group } = detail;
  say(el('k-shards'), shardCount === null ? '' : `${count(assigned)} of ${count(shardCount)} here`);
  const others = (shardCount ?? 0) - assigned;
  say(
    el('p-shards'),
    `Group ${group}, reading ${detail.sourceTopic}. ${others > 0 ? `The other ${count(others)} belong to other members or are unclaimed: ${commandLine(state, ['journal'])} lists their owners.` : ''}`,
  );
  const states = new Map(shards.map((one) => [one.shard, one.state]));
  const all = Array.from({ length: Math.min(shardCount ?? 0, 1024) }, (_, shard) => shard);
  each(
    el('map'),
    all,
    String,
    () => make('i'),
    (mark, shard) => attr(mark, 'class', states.get(shard) ?? 'elsewhere'),
  );
  const details = /** @type {HTMLDetailsElement} */ (el('d-shards'));
  details.hidden = shards.length === 0;
  if (!shardsSeen && shards.length > 0) {
    shardsSeen = true;
    details.open = shards.length <= OPEN_SHARDS && matchMedia('(min-width: 701px)').matches;
  }
  details.ontoggle = () => showShards(state);
  each(
    body('t-shards'),
    details.open ? shards : [],
    ({ shard }) => String(shard),
    () => row('t-shards'),
    (tr, shard) => {
      const more = shard.partitions - shard.positions.length;
      fill(tr, [
        String(shard.shard),
        [
          { lost: 'lost, to be reclaimed', owner: 'owned', claiming: 'claiming' }[shard.state],
          shard.failures > 0 ? `${counted(shard.failures, 'claim')} failed in a row` : '',
          shard.state === 'owner' ? '' : 'warn',
        ],
        shard.ownedSinceMs === null ? '–' : age(nowMs - shard.ownedSinceMs),
        count(shard.jobs),
        count(shard.inFlight),
        shard.lag === null ? 'unknown' : count(shard.lag),
        shard.positions
          .map(
            ({ partition, watermark, position }) =>
              `${partition}: ${count(watermark)}, ${count(position)}`,
          )
          .join('; ') + (more > 0 && shard.positions.length > 0 ? `; ${count(more)} more` : ''),
      ]);
    },
  );
}
