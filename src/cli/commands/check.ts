import { Command } from 'commander';
import { effectiveOptions } from '../../config/effective.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { EXIT } from '../exit-codes.ts';
import type { Finish, Io } from '../io.ts';

export function checkCommand(io: Io, finish: Finish): Command {
  return new Command('check')
    .summary('check a configuration and show what is in effect')
    .description(
      'Checks a configuration file without touching Kafka or the service. Shows what is in effect, secrets masked; or every problem at once, on standard error, by path.',
    )
    .requiredOption('-c, --config <file>', 'configuration file (YAML)')
    .option('-q, --quiet', 'say nothing when the configuration is right')
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector check --config config/example.yaml
  $ content-review-connector check -q -c connector.yaml && echo deploy`,
    )
    .action(async ({ config, quiet }: { config: string; quiet?: true }) => {
      const loaded = await loadConfig(config, io.env);
      if (quiet !== true) io.out(summary(config, loaded));
      finish(EXIT.ok);
    });
}

/** For each pipeline the way of its records, then every option. */
function summary(file: string, config: Config): string {
  const count = config.pipelines.length;
  const lines = [`${file} is right: ${count} pipeline${count === 1 ? '' : 's'}.`, ''];
  for (const { name, kind, source, journal, output, deadLetters } of config.pipelines) {
    lines.push(`Pipeline ${name} (${kind})`);
    lines.push(`  ${source.topic} -> ${output.topic}, or ${deadLetters.topic}`);
    lines.push(`  group ${source.group}, journal ${journal.topic}`, '');
  }
  const options = effectiveOptions(config);
  const width = Math.max(...options.map(({ path }) => path.length));
  lines.push('In effect:', ...options.map(({ path, value }) => `  ${path.padEnd(width)}  ${value}`));
  return `${lines.join('\n')}\n`;
}
