import { type Command, Option } from 'commander';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import type { ServiceFlags } from '../service/session.ts';
import { configOption, duration } from '../tool-options.ts';

/** Loaded late: the client and its parsers are not needed by other commands. */
const commands = () => import('../service/commands.ts');

export function batchCommand(program: Command, io: Io): void {
  const id = '1f750778-d5d8-4292-8579-7e6fe8cf1608';
  const group = program
    .command('batch')
    .description('submit a CSV file for review, follow it, fetch its results');
  serviceOptions(
    group
      .command('submit')
      .summary('submit a CSV file')
      .description(
        'Submits a CSV file with a column Content as one batch; every other column is metadata. Prints the id of the batch; with --wait, how it ended.',
      )
      .argument('<file>', 'CSV file in UTF-8; - for standard input')
      .requiredOption('-t, --type <type>', 'content type, as the service knows it')
      .action(async (file: string, flags: ServiceFlags) =>
        (await commands()).submit(io, file, flags),
      ),
    'batch submit posts.csv --type post --wait -c service.yaml',
    'batch submit - --type post -c service.yaml < posts.csv',
  );
  serviceOptions(
    group
      .command('get')
      .description('print the state of a batch as JSON (docs/cli.md)')
      .argument('<id>', 'id of the batch')
      .action(async (id: string, flags: ServiceFlags) => (await commands()).get(io, id, flags)),
    `batch get ${id} --wait --timeout 1h -c service.yaml`,
  );
  serviceOptions(
    group
      .command('results')
      .description("write the service's result file to standard output")
      .argument('<id>', 'id of the batch')
      .action(async (id: string, flags: ServiceFlags) => (await commands()).results(io, id, flags)),
    `batch results ${id} --wait -c service.yaml > results.csv`,
  );
}

/** Adds the options and the help of each of them. @param examples command lines without the program. */
function serviceOptions(command: Command, ...examples: readonly string[]): void {
  configOption(command, 'configuration; its section `service` is read')
    .option('-w, --wait', 'wait until it is finished; Ctrl-C stops waiting')
    .addOption(
      new Option('--timeout <duration>', 'wait no longer than this, such as 15m')
        .argParser(duration)
        .implies({ wait: true }),
    )
    .addHelpText('after', helpText(examples, '', 'ok', 'problems', 'unfinished'));
}
