/** Comparison of a command's output with a page. `…` matches any text in a line; a line `…` matches any number of lines. */

/** npm's banner about the script that it runs, and its warnings about the settings of the machine. */
const NPM_BANNER = /^\n?> [\w-]+@\S+ [\w:-]+\n> [^\n]*\n\n?|^npm warn [^\n]*\n/gm;

export function withoutBanners(output: string): string {
  return output.replace(NPM_BANNER, '');
}

/** True if the whole of `output` matches the page. */
export function isAsShown(output: string, shown: string): boolean {
  return new RegExp(`^${pattern(shown)}$`).test(inLines(output));
}

/** True if the lines of the page occur in `output` consecutively. */
export function isShownIn(output: string, shown: string): boolean {
  return new RegExp(`(?:^|\n)${pattern(shown)}`).test(inLines(output));
}

function pattern(shown: string): string {
  return inLines(shown).replace(/[^\n]*\n/g, (line) =>
    line.trim() === '…'
      ? '(?:[^\n]*\n)*'
      : line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('…', '[^\n]*'),
  );
}

/** Removes trailing blanks of lines, and empty lines at the start and the end. */
function inLines(text: string): string {
  const lines = text.replace(/[ \t\r]+$/gm, '').replace(/^\n+|\n+$/g, '');
  return lines === '' ? '' : `${lines}\n`;
}
