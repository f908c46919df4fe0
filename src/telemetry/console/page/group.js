/** Table of all shards of the group, whoever owns them, from the journal: read while it is open. */
import { body, each, el, fill, row, say } from './dom.js';
import { age, ago, count, counted, duration } from './format.js';

/** @typedef {import('../state.ts').ConsoleState} State */
/** @typedef {NonNullable<State['group']>} View */
/** @typedef {NonNullable<View['report']>['shards'][number]} Shard */

const details = () => /** @type {HTMLDetailsElement} */ (el('d-group'));
let isFirst = true;
/** @type {View['report']} */
let report = null;
/** Pipeline and time of the report: the connector does not send it again. */
let reading = '';

/** Requests the reading while the table is open in a visible page. */
export const groupQuery = () =>
  details().open && !document.hidden ? `&group=${encodeURIComponent(reading)}` : '';

/** @param {State} state */
export function showGroup({ detail, group, nowMs }) {
  // Open at first when other instances own shards.
  if (isFirst)
    details().open =
      detail.assigned < (detail.shardCount ?? 0) && matchMedia('(min-width: 701px)').matches;
  isFirst = false;
  if (group === null) return;
  if (group.report !== undefined) report = group.report;
  reading = `${detail.name}/${group.atMs}`;
  show(group, detail.instance, nowMs);
}

/** @param {View} view @param {string | null} self @param {number} nowMs */
function show({ atMs, tookMs, problem }, self, nowMs) {
  const failed = problem === null ? '' : ` The last reading failed: ${problem}.`;
  const shards = report?.shards ?? [];
  const owners = new Set(shards.map(({ instance }) => instance).filter((one) => one !== null));
  say(
    el('p-group'),
    atMs === null
      ? problem === null
        ? 'Reading the journal…'
        : `The journal could not be read: ${problem}.`
      : `${counted(report?.members ?? 0, 'member')} (${report?.state}), ${counted(owners.size, 'instance')} in the journal, read ${age(nowMs - atMs)} ago in ${duration(tookMs / 1000)}.${failed}`,
  );
  el('t-group').hidden = report === null;
  each(
    body('t-group'),
    shards,
    ({ shard }) => String(shard),
    () => row('t-group'),
    (tr, shard) => showShard(tr, shard, self, nowMs),
  );
  const rest = (report?.shardCount ?? 0) - shards.length;
  say(el('e-group'), rest > 0 ? `${count(rest)} more: the journal command lists them.` : '');
}

/** @param {HTMLElement} tr @param {Shard} shard @param {string | null} self @param {number} nowMs */
function showShard(tr, shard, self, nowMs) {
  const { instance, seenMs, writtenMs, jobs, records, lag, partitions, watermarks } = shard;
  const since = (/** @type {number | null} */ ms) => (ms === null ? '–' : ago(nowMs - ms));
  const more = partitions - watermarks.length;
  fill(tr, [
    String(shard.shard),
    instance === null
      ? ['unclaimed', '', 'warn']
      : [instance.slice(0, 8), instance === self ? 'this one' : ''],
    since(seenMs),
    since(writtenMs),
    ...[jobs, records, lag].map(count),
    watermarks.map(({ partition, watermark }) => `${partition}: ${count(watermark)}`).join('; ') +
      (more > 0 ? `; ${count(more)} more` : ''),
  ]);
}
