import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { resourceCommand, serviceOptions, submitCommand } from '../remote/service-command.ts';

export function importCommand(program: Command, io: Io): void {
  const summary = 'submit a JSON Lines file of records, follow it';
  const group = resourceCommand(program, io, 'import', summary);
  const rules =
    'of objects with exactly the fields type (a string) and data (an object), and submits it as one import';
  const submit = submitCommand(group, io, 'import', 'JSON Lines', rules);
  serviceOptions(submit, ['import submit users.jsonl --wait', 'import submit - < users.jsonl']);
  for (const command of group.commands)
    command.option(
      '--import-path <path>',
      'path of the status check of imports (default: /v1/import/{import_id})',
    );
}
