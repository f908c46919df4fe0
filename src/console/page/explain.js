/** Composes the command that tells what became of a record. */
import { el, say } from './dom.js';

/**
 * @param {{ partition: string, offset: string, config: string, pipeline: string | null }} what
 * @returns {string | null} null when it names no record
 */
export function explainCommand({ partition, offset, config, pipeline }) {
  if (!/^\d{1,10}$/.test(partition) || !/^\d{1,15}$/.test(offset) || config === '') return null;
  const named = pipeline === null ? '' : ` --pipeline ${quoted(pipeline)}`;
  return `content-review-connector explain ${Number(partition)}:${Number(offset)} --config ${quoted(config)}${named}`;
}

/** For a shell. @param {string} text */
export function quoted(text) {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** @param {() => string | null} pipeline what to name, when there are several */
export function startExplain(pipeline) {
  const input = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (el(id));
  const command = () =>
    explainCommand({
      partition: input('x-partition').value.trim(),
      offset: input('x-offset').value.trim(),
      config: input('x-config').value.trim(),
      pipeline: pipeline(),
    });
  const update = () => {
    const text = command();
    say(el('x-command'), text ?? 'a partition and an offset are whole numbers');
    /** @type {HTMLButtonElement} */ (el('x-copy')).disabled = text === null;
  };
  el('explain-form').addEventListener('input', () => {
    say(el('x-note'), '');
    update();
  });
  el('explain-form').addEventListener('submit', (event) => event.preventDefault());
  el('x-copy').addEventListener('click', () => {
    const text = command();
    if (text !== null)
      void copy(text).then((done) => say(el('x-note'), done ? 'Copied.' : 'Selected: copy it with your keyboard.'));
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

/** Browsers give a page on plain http, other than of this machine, no clipboard. @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(el('x-command'));
    return false;
  }
}
