/** Table of all shards of the group, whoever owns them, from the journal: read while it is open. */
import { body, each, el, fill, row, say } from './dom.js';
import { age, ago, count, counted, duration } from './format.js';

/** @typedef {ReturnType<import('../group-reading.ts').GroupReadings['view']>} View */
/** @typedef {NonNullable<View['report']>['shards'][number]} Shard */

const POLL_MS = 5_000;

/** @param {() => import('../state.ts').ConsoleState | undefined} state the latest state */
export function startGroup(state) {
  const details = /** @type {HTMLDetailsElement} */ (el('d-group'));
  let shownOf = '';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const poll = async () => {
    clearTimeout(timer);
    const name = state()?.detail.name;
    if (!details.open || document.hidden || name === undefined) return;
    try {
      const response = await fetch(`api/group?pipeline=${encodeURIComponent(name)}`, {
        credentials: 'omit',
        cache: 'no-store',
      });
      if (response.ok && details.open && name === state()?.detail.name) {
        const view = /** @type {View} */ (await response.json());
        shownOf = name;
        show(view, state()?.detail.instance ?? null);
        timer = setTimeout(poll, view.atMs === null ? POLL_MS / 5 : POLL_MS);
        return;
      }
    } catch {
      // The state shows that the connector does not respond.
    }
    timer = setTimeout(poll, POLL_MS);
  };
  details.addEventListener('toggle', () => void poll());
  document.addEventListener('visibilitychange', () => void poll());
  return {
    /** Opens it when other instances own shards, and reads another pipeline when that is chosen. */
    update() {
      const detail = state()?.detail;
      if (detail === undefined || detail.name === shownOf) return;
      const isFirst = shownOf === '';
      shownOf = detail.name;
      if (isFirst)
        details.open =
          detail.assigned < (detail.shardCount ?? 0) && matchMedia('(min-width: 701px)').matches;
      void poll();
    },
  };
}

/** @param {View} view @param {string | null} self */
function show({ nowMs, atMs, tookMs, problem, report }, self) {
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
