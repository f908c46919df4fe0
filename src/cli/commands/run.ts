import { Command } from 'commander';
import { loadConfig } from '../../config/load/load.ts';
import { EXIT } from '../exit-codes.ts';
import { untilInterrupted } from '../interrupt.ts';
import type { Finish, Io } from '../io.ts';

export function runCommand(io: Io, finish: Finish): Command {
  return new Command('run')
    .summary('run the pipelines of a configuration')
    .description(
      'Runs every pipeline of the configuration until SIGTERM or SIGINT. Start the same command again, here or on another machine, to share the work: replicas find each other through the consumer group. Killing it loses nothing.',
    )
    .requiredOption('-c, --config <file>', 'configuration file (YAML)')
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector run --config config/example.yaml
  $ LOG_FORMAT=text content-review-connector run -c connector.yaml

Log lines go to standard output: JSON, or text at a terminal. Metrics and health are on http.host:http.port.`,
    )
    .action(async ({ config }: { config: string }) => {
      const loaded = await loadConfig(config, io.env);
      // Loaded late: a wrong configuration is reported before anything heavy starts.
      const { runConnector } = await import('../../app/run.ts');
      const signals = untilInterrupted();
      try {
        finish(EXIT[await runConnector(loaded, config, signals.interrupted)]);
      } finally {
        signals.restore();
      }
    });
}
