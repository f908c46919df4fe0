import { type Command, Option } from 'commander';
import type { ServiceFlags } from '../../packages/client/src/cli/flags.ts';
import { helpText, type Io } from '../../packages/client/src/cli/io.ts';
import { configOption, duration } from './tool-options.ts';

/** Adds the options and the help of each of them. @param examples command lines without the program. */
export function serviceOptions(command: Command, examples: readonly string[]): Command {
  return configOption(command, 'configuration; its section `service` is read')
    .option(
      '-w, --wait',
      'wait until it is finished; Ctrl-C stops waiting and prints how to continue',
    )
    .addOption(
      new Option('--timeout <duration>', 'wait no longer than this, such as 15m')
        .argParser(duration)
        .implies({ wait: true }),
    )
    .option('--json', 'print JSON (docs/cli.md)')
    .addHelpText('after', helpText(examples, '', 'ok', 'problems', 'unfinished'));
}

/** Adds the command of a resource with its `get`. */
export function resourceCommand(
  program: Command,
  io: Io,
  kind: 'batch' | 'import' | 'decision',
  summary: string,
): Command {
  const id = '1f750778-d5d8-4292-8579-7e6fe8cf1608';
  const group = program
    .command(kind)
    .description(summary)
    .addHelpText('after', helpText([`${kind} get ${id} -c service.yaml`]));
  const get = group
    .command('get')
    .description(`show the state of one ${kind}`)
    .argument('<id>', `id of the ${kind}`)
    .action(async (id: string, flags: ServiceFlags) => {
      const { get, RESOURCES, serviceIo } = await serviceModules(io);
      await get(serviceIo, RESOURCES[kind], id, flags);
    });
  serviceOptions(get, [`${kind} get ${id} --wait --timeout 1h --json -c service.yaml`]);
  return group;
}

/** Adds `submit` to the command of a resource that is made of a file. @param rules continues "Submits a CSV file" */
export function submitCommand(
  group: Command,
  io: Io,
  kind: 'batch' | 'import',
  format: string,
  rules: string,
): Command {
  return group
    .command('submit')
    .summary(`submit a ${format} file`)
    .description(
      `Submits a ${format} file ${rules}. Prints the id of the ${kind}; with --wait, how it ended.`,
    )
    .argument('<file>', `${format} file in UTF-8; - for standard input`)
    .action(async (file: string, flags: ServiceFlags) => {
      const { submit, RESOURCES, serviceIo } = await serviceModules(io);
      await submit(serviceIo, RESOURCES[kind], file, flags);
    });
}

/** Loads the client's commands. They connect by this program's options and configuration. */
export async function serviceModules(io: Io) {
  const [commands, { RESOURCES }, { connect }] = await Promise.all([
    import('../../packages/client/src/cli/commands.ts'),
    import('../../packages/client/src/cli/resources.ts'),
    import('./service-connection.ts'),
  ]);
  return { ...commands, RESOURCES, serviceIo: { ...io, connect } };
}
