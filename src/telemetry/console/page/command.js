/** Commands to be pasted where this connector runs: its own program, with its own configuration. Pure. */

/** @typedef {Pick<import('../state.ts').ConsoleState, 'program' | 'configFile' | 'pipelines' | 'detail'>} Told */

/** @param {Told} state @param {readonly string[]} words the command and its arguments @param {string} [pipeline] by default the one that is shown */
export function commandLine(
  { program, configFile, pipelines, detail },
  words,
  pipeline = detail.name,
) {
  const named = pipelines.length > 1 ? ['--pipeline', pipeline] : [];
  return [...program, ...words, '--config', configFile, ...named].map(quoted).join(' ');
}

/** For a shell. @param {string} text */
export function quoted(text) {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
