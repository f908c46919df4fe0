import { isatty } from 'node:tty';
import type { Command } from 'commander';
import { EXIT, interruptible } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { ConfigReload } from '../../app/reload.ts';
import { loadConfig } from '../../config/load.ts';
import { configOption } from '../tool-options.ts';

export function runCommand(program: Command, io: Io): void {
  configOption(program.command('run'))
    .summary('run the pipelines of a configuration')
    .description(
      'Runs every pipeline of the configuration until SIGTERM or SIGINT. Reloads the file when it changes and on SIGHUP, and applies changes that require no restart. Replicas share the work through the consumer group. No records are lost if a replica is killed.',
    )
    .addHelpText(
      'after',
      helpText(
        ['run --config config/example.yaml'],
        `The log goes to standard output: as JSON, or as text at a terminal or with LOG_FORMAT=text. Metrics and health are on http.host:http.port.`,
      ),
    )
    .action(async ({ config: file }: { config: string }) => {
      const config = await loadConfig(file, io.env);
      // Loaded late, so that problems of the configuration are reported without loading heavy modules.
      const { runConnector } = await import('../../app/run.ts');
      const reload = new ConfigReload(config, file, io.env);
      // A closing terminal also sends SIGHUP, which must then end the connector.
      const onHangup = isatty(0) || io.outIsTerminal ? undefined : () => reload.request();
      const outcome = await interruptible(
        (_, interrupted) => runConnector(config, interrupted, reload),
        onHangup,
      );
      io.finish(EXIT[outcome]);
    });
}
