import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { EXIT } from '../exit-codes.ts';
import type { Finish, Io } from '../io.ts';

/** The demo starts a broker with what lies in dev/, which a repository has and an installed package has not. */
const DEV = new URL('../../../dev/', import.meta.url);

export function demoCommand(io: Io, finish: Finish): Command {
  return new Command('demo')
    .summary('see it work: a broker, a service, real e-mails, one decision each')
    .description(
      'Starts a Kafka broker, the sandbox service and the connector, sends 2,000 real e-mails through them, and shows the balance. Needs Java 17 and Maven, or Docker, or a cluster in KAFKA_BROKERS. Ends by itself and leaves nothing behind.',
    )
    .option('--keep', 'leave everything running and print the addresses; Ctrl-C ends it')
    .addHelpText(
      'after',
      `
Examples:
  $ npm run demo
  $ npm run demo -- --keep
  $ KAFKA_BROKERS=broker:9092 npm run demo`,
    )
    .action(async ({ keep = false }: { keep?: boolean }) => {
      if (!existsSync(DEV)) {
        io.err(
          'The demo needs the repository: clone it, run `npm ci`, then `npm run demo`. An installed package has `run`, `check` and `sandbox`.\n',
        );
        return finish(EXIT.usage);
      }
      const { runDemo } = await import('../../app/demo.ts');
      finish(await runDemo({ keep }));
    });
}
