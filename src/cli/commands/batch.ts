import { Command } from 'commander';
import type { Finish, Io } from '../io.ts';
import type { GetFlags, ResultsFlags, SubmitFlags } from '../remote/batch-work.ts';
import { connectionOptions } from '../remote/connection.ts';
import { waitOptions } from '../remote/wait-options.ts';

export function batchCommand(io: Io, finish: Finish): Command {
  return new Command('batch')
    .summary('submit a CSV file for review, follow it, fetch its results')
    .description(
      'Works with batches of the Content Review Service directly: without Kafka and without a running connector.',
    )
    .addCommand(submitCommand(io, finish))
    .addCommand(getCommand(io, finish))
    .addCommand(resultsCommand(io, finish))
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector batch submit posts.csv --type post --wait --output results.csv
  $ content-review-connector batch get 1f750778-d5d8-4292-8579-7e6fe8cf1608
  $ content-review-connector batch results 1f750778-d5d8-4292-8579-7e6fe8cf1608 --output results.csv`,
    );
}

function submitCommand(io: Io, finish: Finish): Command {
  const command = new Command('submit')
    .summary('check a CSV file and submit it')
    .description(
      'Checks a CSV file and submits it as one batch: a header row, a column Content, every other column is metadata. What is wrong is told by line, and then nothing is sent. Prints the id of the batch; with --wait, how it ended.',
    )
    .argument('<file>', 'CSV file in UTF-8; - for standard input')
    .requiredOption('-t, --type <type>', 'type of the content, as the service knows it')
    .addHelpText(
      'after',
      `
Ends with 0 when it is done, 9 when some rows could not be reviewed, 8 when the batch failed, 10 when --timeout is over.

Examples:
  $ content-review-connector batch submit posts.csv --type post
  $ content-review-connector batch submit posts.csv --type post --wait --output results.csv
  $ export-posts | content-review-connector batch submit - --type post --wait --output - > results.csv`,
    )
    .action(async (file: string, flags: SubmitFlags) => {
      const { submitBatch } = await import('../remote/batch-work.ts');
      await submitBatch(io, finish, file, flags);
    });
  waitOptions(command, 'the review is done').option(
    '-o, --output <file>',
    'with --wait: fetch the results too; - is standard output',
  );
  return connectionOptions(
    forceOption(command).option('--json', 'one JSON document, for machines (docs/cli.md)'),
  );
}

function getCommand(io: Io, finish: Finish): Command {
  const command = new Command('get')
    .summary('show how a batch is doing')
    .description('Shows the state and the counts of a batch.')
    .argument('<id>', 'id of the batch')
    .addHelpText(
      'after',
      `
Ends with 0 when it is done, 9 when some rows could not be reviewed, 8 when the batch failed, 10 while it is not finished.

Examples:
  $ content-review-connector batch get 1f750778-d5d8-4292-8579-7e6fe8cf1608
  $ content-review-connector batch get 1f750778-d5d8-4292-8579-7e6fe8cf1608 --wait --timeout 1h --json | jq .counts`,
    )
    .action(async (id: string, flags: GetFlags) => {
      const { getBatch } = await import('../remote/batch-work.ts');
      await getBatch(io, finish, id, flags);
    });
  return connectionOptions(
    waitOptions(command, 'it is finished').option(
      '--json',
      'one JSON document, for machines (docs/cli.md)',
    ),
  );
}

function resultsCommand(io: Io, finish: Finish): Command {
  const command = new Command('results')
    .summary('fetch the results of a batch')
    .description(
      'Fetches the result file of a batch as the service has it. A file is there under its name only when it is whole.',
    )
    .argument('<id>', 'id of the batch')
    .option('-o, --output <file>', 'where to; - is standard output', '-')
    .option('--json', 'a JSON document for each row, instead of CSV')
    .option(
      '--result-column <name>',
      'with --json: the column of the result, when more than one ends in " result"',
    )
    .addHelpText(
      'after',
      `
Ends with 0 when all rows have a decision, 9 when some have none, 8 when the batch failed, 10 while it is not finished.

Examples:
  $ content-review-connector batch results 1f750778-d5d8-4292-8579-7e6fe8cf1608 --output results.csv
  $ content-review-connector batch results 1f750778-d5d8-4292-8579-7e6fe8cf1608 --wait --json | jq -r 'select(.status == "ERROR").row'`,
    )
    .action(async (id: string, flags: ResultsFlags) => {
      const { batchResults } = await import('../remote/batch-work.ts');
      await batchResults(io, finish, id, flags);
    });
  return connectionOptions(forceOption(waitOptions(command, 'there are results')));
}

const forceOption = (command: Command) =>
  command.option('-f, --force', 'replace the output file when it exists');
