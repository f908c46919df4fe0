/** Commands for single objects of the service: `batch`, `import` and `decision`. */
import { type Command, Option } from 'commander';
import type { ServiceFlags } from '../../../packages/client/src/cli/flags.ts';
import type { Io } from '../../../packages/client/src/cli/io.ts';
import {
  resourceCommand,
  serviceModules,
  serviceOptions,
  submitCommand,
} from '../service-command.ts';

export function resourceCommands(program: Command, io: Io): void {
  batchCommand(program, io);
  importCommand(program, io);
  resourceCommand(program, io, 'decision', 'show a single decision');
}

const FORCE_OPTION = ['-f, --force', 'replace the output file when it exists'] as const;

function batchCommand(program: Command, io: Io): void {
  const summary = 'submit a CSV file for review, follow it, fetch its results';
  const batch = resourceCommand(program, io, 'batch', summary);
  const rules = 'with a column Content as one batch; every other column is metadata';
  const submit = submitCommand(batch, io, 'batch', 'CSV', rules)
    .requiredOption('-t, --type <type>', 'content type, as the service knows it')
    .addOption(
      new Option(
        '-o, --output <file>',
        'wait, and fetch the results; - is standard output',
      ).implies({ wait: true }),
    )
    .option(...FORCE_OPTION);
  serviceOptions(submit, [
    'batch submit posts.csv --type post --wait --output results.csv -c service.yaml',
    'batch submit - --type post --wait --output - -c service.yaml < posts.csv > results.csv',
  ]);
  const results = batch
    .command('results')
    .description(
      "Fetches the service's result file, or with --json a document for each row. A file has its name only when it is whole.",
    )
    .argument('<id>', 'id of the batch')
    .option('-o, --output <file>', 'output file; - is standard output', '-')
    .option(...FORCE_OPTION)
    .addOption(
      new Option(
        '--result-column <name>',
        'JSON with this column as the result, when more than one ends in " result"',
      ).implies({ json: true }),
    )
    .action(async (id: string, flags: ServiceFlags) => {
      const { results, serviceIo } = await serviceModules(io);
      await results(serviceIo, id, flags);
    });
  serviceOptions(results, [
    'batch results 1f750778-d5d8-4292-8579-7e6fe8cf1608 --output results.csv -c service.yaml',
    `batch results 1f750778-d5d8-4292-8579-7e6fe8cf1608 --json -c service.yaml | jq 'select(.status == "ERROR").row'`,
  ]);
}

function importCommand(program: Command, io: Io): void {
  const summary = 'submit a JSON Lines file of records, follow it';
  const group = resourceCommand(program, io, 'import', summary);
  const rules =
    'of objects with exactly the fields type (a string) and data (an object) as one import';
  const submit = submitCommand(group, io, 'import', 'JSON Lines', rules);
  serviceOptions(submit, [
    'import submit users.jsonl --wait -c service.yaml',
    'import submit - -c service.yaml < users.jsonl',
  ]);
}
