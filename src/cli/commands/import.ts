import type { Command } from 'commander';
import type { Io } from '../io.ts';
import type { ServiceFlags } from '../remote/flags.ts';
import { resourceCommand, serviceModules, serviceOptions } from '../remote/service-command.ts';

export function importCommand(program: Command, io: Io): void {
  const summary = 'submit a JSON Lines file of records, follow it';
  const group = resourceCommand(program, io, 'import', summary);
  const submit = group
    .command('submit')
    .summary('check a JSON Lines file and submit it')
    .description(
      'Checks a JSON Lines file of objects with exactly the fields type (a string) and data (an object), and submits it as one import. A file with problems is not sent. Prints the id of the import; with --wait, how it ended.',
    )
    .argument('<file>', 'JSON Lines file in UTF-8; - for standard input')
    .action(async (file: string, flags: ServiceFlags) => {
      const [{ submit }, { RESOURCES }] = await serviceModules();
      await submit(io, RESOURCES.import, file, flags);
    });
  serviceOptions(submit, ['import submit users.jsonl --wait', 'import submit - < users.jsonl']);
  for (const command of group.commands)
    command.option(
      '--import-path <path>',
      'path of the status check of imports (default: /v1/import/{import_id})',
    );
}
