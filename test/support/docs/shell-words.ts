/** Extracts the simple commands of a shell script, so that their arguments can be checked. Expansions are not evaluated. */

/** A word, or an operator between two commands. */
const TOKEN =
  /\\\n|[ \t]+|#[^\n]*|(?<operator>\n|&&|\|\|?|;;?|&(?!>)|[()]|\d*(?:>>?|<<?<?)&?|&>)|(?<word>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|\$\((?:[^()]|\([^()]*\))*\)|[^\s'"\\;&|()<>])+)|./gs;

/** Returns the words of each simple command, without redirections, quotes and assignments before the command. */
export function commandsIn(script: string): string[][] {
  const commands: string[][] = [[]];
  let isTarget = false;
  for (const { groups: { operator, word } = {} } of withoutHereDocuments(script).matchAll(TOKEN)) {
    if (operator !== undefined) {
      isTarget = /[<>]/.test(operator);
      if (!isTarget) commands.push([]);
    } else if (word !== undefined) {
      if (!isTarget) commands.at(-1)?.push(unquoted(word));
      isTarget = false;
      for (const [, inner = ''] of word.matchAll(/\$\(((?:[^()]|\([^()]*\))*)\)/g))
        commands.splice(-1, 0, ...commandsIn(inner));
    }
  }
  for (const words of commands)
    while (words[0] !== undefined && /^\w+=/.test(words[0])) words.shift();
  return commands.filter((words) => words.length > 0);
}

function unquoted(word: string): string {
  return word.replace(
    /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs,
    (_, single, double, escaped) => single ?? double?.replace(/\\([$`"\\\n])/g, '$1') ?? escaped,
  );
}

function withoutHereDocuments(script: string): string {
  return script.replace(/(<<-?\s*(["']?)(\w+)\2[^\n]*\n).*?^\t*\3$/gms, '$1');
}
