import { Command } from 'commander';
import type { Finish, Io } from '../io.ts';
import { connectionOptions } from '../remote/connection.ts';
import type { ImportFlags } from '../remote/import-work.ts';
import { waitOptions } from '../remote/wait-options.ts';

export function importCommand(io: Io, finish: Finish): Command {
  return new Command('import')
    .summary('submit a JSON Lines file of records, follow it')
    .description(
      'Works with imports of the Content Review Service directly: without Kafka and without a running connector.',
    )
    .addCommand(submitCommand(io, finish))
    .addCommand(getCommand(io, finish))
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector import submit users.jsonl --wait
  $ content-review-connector import get 7c9e6679-7425-40de-944b-e07fc1f90ae7`,
    );
}

function submitCommand(io: Io, finish: Finish): Command {
  const command = new Command('submit')
    .summary('check a JSON Lines file and submit it')
    .description(
      'Checks a JSON Lines file and submits it as one import: each line an object with exactly the fields type (a text) and data (an object). What is wrong is told by line, and then nothing is sent. Prints the id of the import; with --wait, how it ended.',
    )
    .argument('<file>', 'JSON Lines file in UTF-8; - for standard input')
    .addHelpText(
      'after',
      `
Ends with 0 when it is done, 8 when it failed, 10 when --timeout is over.

Examples:
  $ content-review-connector import submit users.jsonl --wait
  $ jq -c '{type: "user", data: .}' users.json | content-review-connector import submit -`,
    )
    .action(async (file: string, flags: ImportFlags) => {
      const { submitImport } = await import('../remote/import-work.ts');
      await submitImport(io, finish, file, flags);
    });
  return commonOptions(command);
}

function getCommand(io: Io, finish: Finish): Command {
  const command = new Command('get')
    .summary('show how an import is doing')
    .description('Shows the state of an import.')
    .argument('<id>', 'id of the import')
    .addHelpText(
      'after',
      `
Ends with 0 when it is done, 8 when it failed, 10 while it is not finished.

Examples:
  $ content-review-connector import get 7c9e6679-7425-40de-944b-e07fc1f90ae7 --wait`,
    )
    .action(async (id: string, flags: ImportFlags) => {
      const { getImport } = await import('../remote/import-work.ts');
      await getImport(io, finish, id, flags);
    });
  return commonOptions(command);
}

function commonOptions(command: Command): Command {
  waitOptions(command, 'it is finished').option(
    '--json',
    'one JSON document, for machines (docs/cli.md)',
  );
  return connectionOptions(command).option(
    '--import-path <path>',
    'where the service is asked for the state of an import (default: /v1/import/{import_id})',
  );
}
