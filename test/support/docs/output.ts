/** Comparison of a command's output with a page: `…` stands for any text of a line, a line `…` for any number of lines. */

/** First lines of npm about the script that it runs, and its warnings about the machine's own settings. */
const NPM_BANNER = /^\n?> [\w-]+@\S+ [\w:-]+\n> [^\n]*\n\n?|^npm warn [^\n]*\n/gm;

export function withoutBanners(output: string): string {
  return output.replace(NPM_BANNER, '');
}

/** True if the whole of `output` is as the page shows it. */
export function isAsShown(output: string, shown: string): boolean {
  return new RegExp(`^${pattern(shown)}$`).test(inLines(output));
}

/** True if the lines that the page shows are in `output`, in one piece. */
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

/** Lines without blanks at their ends, and without empty lines before the first and after the last. */
function inLines(text: string): string {
  const lines = text.replace(/[ \t\r]+$/gm, '').replace(/^\n+|\n+$/g, '');
  return lines === '' ? '' : `${lines}\n`;
}
