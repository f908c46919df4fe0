import { Argument, type Command } from 'commander';
import { type Io, PROGRAM } from '../io.ts';

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
  const words: string[] = [];
  const values: string[] = [];
  const paths: string[] = [];
  const walk = (command: Command, path: string): void => {
    const help = command.createHelp();
    const options = help.visibleOptions(command);
    const commands = help.visibleCommands(command);
    const args = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
    const offered = [
      ...commands.map((one) => one.name()),
      ...args,
      ...options.flatMap(({ long }) => long ?? []),
    ];
    words.push(`    '${path}') words='${offered.join(' ')}' ;;`);
    for (const { short, long, required, optional, argChoices = [] } of options) {
      const names = [short, long].flatMap((name) => (name ? [`'${path} ${name}'`] : []));
      if (required || optional)
        values.push(`    ${names.join('|')}) words='${argChoices.join(' ')}' ;;`);
    }
    for (const one of commands) {
      paths.push(`'${path} ${one.name()}'`);
      walk(one, `${path} ${one.name()}`);
    }
  };
  walk(program, '');
  const name = `_${PROGRAM.replaceAll('-', '_')}`;
  return `${isZsh ? 'autoload -Uz bashcompinit && bashcompinit\n' : ''}${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local word command='' words=''
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$command $word" in
    ${paths.join('|')}) command="$command $word" ;;
    esac
  done
  case "$command" in
${words.join('\n')}
  esac
  case "$command $previous" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F ${name} ${PROGRAM}
`;
}
