import { Argument, type Command } from 'commander';
import { type Io, PROGRAM } from '../../../packages/client/src/cli/io.ts';

export function completionCommand(program: Command, io: Io): void {
  program
    .command('completion')
    .summary('print a script that completes commands and options in a shell')
    .description(
      'Prints a script for bash or zsh. It completes commands, options and their fixed values; file names elsewhere.',
    )
    .addArgument(new Argument('<shell>', 'shell that reads the script').choices(['bash', 'zsh']))
    .addHelpText(
      'after',
      `
Examples:
  $ source <(content-review-connector completion bash)     in ~/.bashrc
  $ source <(content-review-connector completion zsh)      in ~/.zshrc, after compinit`,
    )
    .action((shell: string) => io.out(completionScript(program, shell === 'zsh')));
}

/** zsh runs the same function, by its compatibility with bash. */
function completionScript(program: Command, isZsh: boolean): string {
  const offered: { readonly path: string; readonly words: readonly string[] }[] = [];
  /** Options with a value; a name has one in every command or in none. */
  const valued: string[] = [];
  const walk = (command: Command, path: string): void => {
    const help = command.createHelp();
    const [commands, options] = [help.visibleCommands(command), help.visibleOptions(command)];
    const names = commands.map((one) => one.name());
    const args = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
    offered.push({
      path,
      words: [...names, ...args, ...options.flatMap(({ long }) => long ?? [])],
    });
    for (const { short, long, required, optional } of options)
      if (required || optional) valued.push(...[short, long].filter((name) => name !== undefined));
    for (const one of commands) walk(one, `${path} ${one.name()}`);
  };
  walk(program, '');
  const [, ...commands] = offered.map(({ path }) => `'${path}'`);
  const name = `_${PROGRAM.replaceAll('-', '_')}`;
  return `${isZsh ? 'autoload -Uz bashcompinit && bashcompinit\n' : ''}${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local word command='' words=''
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$command $word" in
    ${commands.join('|')}) command="$command $word" ;;
    esac
  done
  case "$command" in
${offered.map(({ path, words }) => `  '${path}') words='${words.join(' ')}' ;;`).join('\n')}
  esac
  case "$previous" in
  ${[...new Set(valued)].join('|')}) words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F ${name} ${PROGRAM}
`;
}
