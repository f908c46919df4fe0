/** Polls the connector every second and shows its state, or the time since its last response. */
import { render } from './preact.js';
import { Throughput } from './throughput.js';
import { pageOf, titleOf } from './view.js';

const POLL_MS = 1_000;
const HIDDEN_POLL_MS = 10_000;
const PATIENCE_MS = 3_000;

const root = /** @type {HTMLElement} */ (document.getElementById('page'));
const throughput = new Throughput();
/** @type {import('../state.ts').ConsoleState | undefined} */
let state;
let heardMs = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** Aborts the poll in progress. A new poll replaces it. */
let current = new AbortController();

async function poll() {
  clearTimeout(timer);
  current.abort();
  const own = new AbortController();
  current = own;
  const pipeline = new URLSearchParams(location.hash.slice(1)).get('pipeline') ?? '';
  let isSilent = false;
  try {
    const response = await fetch(`api/state?pipeline=${encodeURIComponent(pipeline)}`, {
      signal: AbortSignal.any([own.signal, AbortSignal.timeout(PATIENCE_MS)]),
      credentials: 'omit',
      cache: 'no-store',
    });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const heard = await response.json();
    if (own.signal.aborted) return;
    // A connector of another version may have another page.
    if (state !== undefined && heard.version !== state.version) location.reload();
    state = heard;
    heardMs = Date.now();
    throughput.add(heard);
  } catch {
    if (own.signal.aborted) return;
    isSilent = true;
  }
  timer = setTimeout(poll, document.hidden ? HIDDEN_POLL_MS : POLL_MS);
  document.title = titleOf(state, isSilent);
  render(pageOf(state, throughput.perSecond, isSilent ? heardMs : undefined), root);
}

addEventListener('hashchange', () => void poll());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void poll();
});
void poll();
