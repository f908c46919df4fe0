/** Commands to paste where the connector runs, with its own program and configuration. Pure. */

import { escaped } from './format.js';

/** @typedef {Pick<import('../state.ts').ConsoleState, 'program' | 'configFile' | 'pipelines' | 'detail'>} CommandState */

/** @param {CommandState} state @param {readonly string[]} words the command for the shown pipeline, and its arguments */
export function commandLine({ program, configFile, pipelines, detail: { name: pipeline } }, words) {
  // `resume` takes it as an argument.
  const isNamed = pipelines.length < 2 || words[0] === 'resume';
  const named = isNamed ? [] : ['--pipeline', pipeline];
  return [...program, ...words, '--config', configFile, ...named].map(quoted).join(' ');
}

/** Quotes a word for a shell, so that pasting it types no control character. @param {string} text */
export function quoted(text) {
  if (escaped(text) !== text) return `$'${escaped(text.replace(/[\\']/g, '\\$&'))}'`;
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
