/** Fate of the records that a search has found. */
import { el, make } from './dom.js';
import { age, clock, counted } from './format.js';

/** @typedef {import('../../../tools/inspect/explanation.ts').Explanation} Explanation */
/** @typedef {Partial<import('../../../tools/inspect/search.ts').SearchReport> & { records: readonly Explanation[] }} ExplainAnswer */

/** Shows the records. @param {ExplainAnswer} answer @param {number} nowMs @returns {string} the conclusion */
export function showAnswer(answer, nowMs) {
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
