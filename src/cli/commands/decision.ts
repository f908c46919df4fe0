import { Command } from 'commander';
import type { Finish, Io } from '../io.ts';
import { connectionOptions } from '../remote/connection.ts';
import type { DecisionFlags } from '../remote/decision-work.ts';
import { waitOptions } from '../remote/wait-options.ts';

export function decisionCommand(io: Io, finish: Finish): Command {
  return new Command('decision')
    .summary('look up a single decision')
    .description(
      'Looks up decisions of the Content Review Service directly: without Kafka and without a running connector.',
    )
    .addCommand(getCommand(io, finish))
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector decision get 1f750778-d5d8-4292-8579-7e6fe8cf1608-0`,
    );
}

function getCommand(io: Io, finish: Finish): Command {
  const command = new Command('get')
    .summary('show a decision')
    .description('Shows a decision: its result, its labels with their explanations, its metadata.')
    .argument('<id>', 'id of the decision')
    .addHelpText(
      'after',
      `
Ends with 0 when it was made, 8 when it could not be made, 10 while it is pending.

Examples:
  $ content-review-connector decision get 1f750778-d5d8-4292-8579-7e6fe8cf1608-0 --wait
  $ content-review-connector decision get 1f750778-d5d8-4292-8579-7e6fe8cf1608-0 --json | jq -r .result`,
    )
    .action(async (id: string, flags: DecisionFlags) => {
      const { getDecision } = await import('../remote/decision-work.ts');
      await getDecision(io, finish, id, flags);
    });
  return connectionOptions(
    waitOptions(command, 'it is made').option(
      '--json',
      'one JSON document, for machines (docs/cli.md)',
    ),
  );
}
