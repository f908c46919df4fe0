/** Commands for individual objects of the service: `batch`, `import` and `decision`. */
import { type Command, Option } from 'commander';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import type { Flags } from '../service-context.ts';
import { configOption, duration } from '../tool-options.ts';

/** Id in the examples of the help. */
const ID = '1f750778-d5d8-4292-8579-7e6fe8cf1608';

/** Loads the modules late, because other commands need neither the client nor its parsers. */
const loaded = async () => ({
  ...(await import('../../../packages/client/src/commands/commands.ts')),
  ...(await import('../../../packages/client/src/commands/resources.ts')),
  ...(await import('../service-context.ts')),
});

export function resourceCommands(program: Command, io: Io): void {
  const batch = program
    .command('batch')
    .description('submit a CSV file for review, wait for it, fetch its results');
  serviceOptions(
    batch
      .command('submit')
      .summary('submit a CSV file')
      .description(
        'Submits a CSV file with a column Content as one batch; every other column is metadata. Prints the id of the batch, or its outcome with --wait.',
      )
      .argument('<file>', 'CSV file in UTF-8')
      .requiredOption('-t, --type <type>', 'content type, as defined at the service')
      .action(async (file: string, flags: Flags) => {
        const { submit, contextOf, BATCH } = await loaded();
        await submit(contextOf(io, flags), BATCH, file);
      }),
    'batch submit posts.csv --type post --wait -c service.yaml',
  );
  getCommand(batch, io, 'BATCH');
  serviceOptions(
    batch
      .command('results')
      .description("write the service's result file to standard output")
      .argument('<id>', 'id of the batch')
      .action(async (id: string, flags: Flags) => {
        const { results, contextOf } = await loaded();
        await results(contextOf(io, flags), id);
      }),
    `batch results ${ID} --wait -c service.yaml > results.csv`,
  );

  const group = program
    .command('import')
    .description('submit a JSON Lines file of records, wait for it');
  serviceOptions(
    group
      .command('submit')
      .summary('submit a JSON Lines file')
      .description(
        'Submits a JSON Lines file of objects with exactly the fields type (a string) and data (an object) as one import. Prints the id of the import, or its outcome with --wait.',
      )
      .argument('<file>', 'JSON Lines file in UTF-8')
      .action(async (file: string, flags: Flags) => {
        const { submit, contextOf, IMPORT } = await loaded();
        await submit(contextOf(io, flags), IMPORT, file);
      }),
    'import submit users.jsonl --wait -c service.yaml',
  );
  getCommand(group, io, 'IMPORT');

  getCommand(program.command('decision').description('show a single decision'), io, 'DECISION');
}

/** Adds the command `get` to a resource's command group. */
function getCommand(group: Command, io: Io, name: 'BATCH' | 'IMPORT' | 'DECISION'): void {
  const kind = name.toLowerCase();
  const get = group
    .command('get')
    .description(`print the state of one ${kind} as JSON (docs/cli.md)`)
    .argument('<id>', `id of the ${kind}`)
    .action(async (id: string, flags: Flags) => {
      const commands = await loaded();
      await commands.get(commands.contextOf(io, flags), commands[name], id);
    });
  serviceOptions(get, `${kind} get ${ID} --wait --timeout 1h -c service.yaml`);
}

/** Adds the options and the help that these commands share. @param examples command lines without the program's name */
function serviceOptions(command: Command, ...examples: readonly string[]): void {
  configOption(command, 'configuration file; only its services are read')
    .option(
      '--service <name>',
      'name of an entry of `services`; default: `service`, or the only entry',
    )
    .option('-w, --wait', 'wait until it is finished; Ctrl-C stops waiting')
    .addOption(
      new Option('--timeout <duration>', 'maximum wait, such as 15m')
        .argParser(duration)
        .implies({ wait: true }),
    )
    .addHelpText('after', helpText(examples, '', 'ok', 'problems', 'unfinished'));
}
