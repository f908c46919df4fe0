/** Form for the command that explains a record. */
import { commandLine } from './command.js';
import { el, say } from './dom.js';

/**
 * @param {{ partition: string, offset: string }} record
 * @param {import('./command.js').CommandState} state
 * @returns {string | null} null for an invalid coordinate
 */
export function explainCommand({ partition, offset }, state) {
  if (!/^\d{1,10}$/.test(partition) || !/^\d{1,15}$/.test(offset)) return null;
  return commandLine(state, ['explain', `${Number(partition)}:${Number(offset)}`]);
}

/** @param {() => import('../state.ts').ConsoleState | undefined} state the latest state; undefined before the first */
export function startExplain(state) {
  const input = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (el(id));
  const command = () => {
    const last = state();
    if (last === undefined) return undefined;
    return explainCommand(
      { partition: input('x-partition').value.trim(), offset: input('x-offset').value.trim() },
      last,
    );
  };
  const update = () => {
    const text = command();
    say(
      el('x-command'),
      text === undefined ? '–' : (text ?? 'partition and offset must be whole numbers'),
    );
    /** @type {HTMLButtonElement} */ (el('x-copy')).disabled = typeof text !== 'string';
  };
  el('explain-form').addEventListener('input', () => {
    say(el('x-note'), '');
    update();
  });
  el('explain-form').addEventListener('submit', (event) => event.preventDefault());
  el('x-copy').addEventListener('click', () => {
    const text = command();
    if (typeof text === 'string')
      void copy(text).then((done) =>
        say(el('x-note'), done ? 'Copied.' : 'Selected: copy it with the keyboard.'),
      );
  });
  update();
  return {
    update,
    /** @param {{ partition: number, offset: number }} record */
    show(record) {
      input('x-partition').value = String(record.partition);
      input('x-offset').value = String(record.offset);
      update();
      el('explain').scrollIntoView({ block: 'center' });
      el('x-copy').focus({ preventScroll: true });
    },
  };
}

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
