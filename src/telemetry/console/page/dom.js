/** Helpers that write text, never markup, and touch only what has changed. */

import { escaped } from './format.js';

/** @param {string} id @returns {HTMLElement} */
export function el(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no element ${id}`);
  return found;
}

/** @param {Element} node @param {string} text */
export function say(node, text) {
  const shown = escaped(text);
  if (node.textContent !== shown) node.textContent = shown;
}

/** @param {Element} node @param {string} name @param {string} value */
export function attr(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** @param {string} name @param {Record<string, string>} [attributes] @param {...(Node | string)} children @returns {HTMLElement} */
export function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/**
 * Updates the children of `parent`, one per item. They are kept by key, so focus and selection stay.
 * @template T
 * @param {Element} parent
 * @param {readonly T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => HTMLElement} create
 * @param {(node: HTMLElement, item: T) => void} update
 */
export function each(parent, items, keyOf, create, update) {
  const before = new Map(
    [...parent.children].map((node) => [
      /** @type {HTMLElement} */ (node).dataset.key,
      /** @type {HTMLElement} */ (node),
    ]),
  );
  const kept = new Set();
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let node = before.get(key);
    before.delete(key);
    if (node === undefined) {
      node = create(item);
      node.dataset.key = key;
    }
    update(node, item);
    kept.add(node);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  // Keys of others, such as names that were cut, may be equal.
  for (const node of [...parent.children]) if (!kept.has(node)) node.remove();
}

/** @param {string} table @returns {Element} */
export function body(table) {
  return /** @type {Element} */ (el(table).querySelector('tbody'));
}

/** Returns a row for a table. Small screens show the column heading before each cell. @param {string} table */
export function row(table) {
  const cells = [...el(table).querySelectorAll('th')].map(({ className, children, textContent }) =>
    make('td', {
      'data-label': children.length > 0 ? '' : (textContent ?? ''),
      role: 'cell',
      ...(className === '' ? {} : { class: className }),
    }),
  );
  return make('tr', { role: 'row' }, ...cells);
}

/** @param {HTMLElement} tr @param {number} at @returns {HTMLElement} */
export function cell(tr, at) {
  return /** @type {HTMLElement} */ (tr.children[at]);
}

/** Writes the cells of a row, each a text, or the arguments of `two`. @param {HTMLElement} tr @param {readonly (string | readonly [string, string, string?])[]} values */
export function fill(tr, values) {
  for (const [at, value] of values.entries())
    if (typeof value === 'string') say(cell(tr, at), value);
    else two(cell(tr, at), ...value);
}

/** Writes the text of a cell and a second line under it. @param {HTMLElement} td @param {string} text @param {string} small @param {string} [tone] */
function two(td, text, small, tone = '') {
  let main = td.querySelector('span');
  let note = td.querySelector('small');
  if (main === null || note === null) {
    main = /** @type {HTMLSpanElement} */ (make('span'));
    note = make('small');
    td.replaceChildren(main, ' ', note);
  }
  say(main, text);
  attr(main, 'class', tone);
  say(note, small);
}
