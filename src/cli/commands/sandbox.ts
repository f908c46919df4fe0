import { Command, InvalidArgumentError } from 'commander';
import { EXIT } from '../exit-codes.ts';
import { untilInterrupted } from '../interrupt.ts';
import type { Finish, Io } from '../io.ts';

const DEFAULT_KEY = 'sandbox-key';

interface SandboxFlags {
  readonly host: string;
  readonly port: number;
  readonly policy?: string;
  readonly data?: string;
  readonly apiKey?: readonly string[];
}

export function sandboxCommand(io: Io, finish: Finish): Command {
  return new Command('sandbox')
    .summary('run a reference Content Review Service to try things on')
    .description(
      'Serves the interface of the Content Review Service on this machine until SIGTERM or SIGINT: real uploads and downloads, decisions\nby a policy file, faults on demand.',
    )
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('-p, --port <port>', 'port to listen on; 0 takes a free one', portNumber, 8080)
    .option('--policy <file>', 'policy (YAML); without one everything is approved at once')
    .option(
      '--data <dir>',
      'keep batches in this directory over restarts; without it they go when the sandbox ends',
    )
    .option(
      '--api-key <key...>',
      `keys that callers may use; also SANDBOX_API_KEYS with commas (default: "${DEFAULT_KEY}")`,
    )
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector sandbox --policy config/sandbox-policy.yaml
  $ content-review-connector sandbox --port 0 --data ./sandbox-data --api-key one two`,
    )
    .action(async (flags: SandboxFlags) => {
      const { startSandbox } = await import('../../sandbox/sandbox.ts');
      const { readPolicyFile } = await import('../../sandbox/policy/schema.ts');
      const { InvalidSandboxInput } = await import('../../sandbox/policy/invalid.ts');
      const signals = untilInterrupted();
      try {
        const sandbox = await startSandbox({
          host: flags.host,
          port: flags.port,
          apiKeys: flags.apiKey ?? keysFrom(io.env.SANDBOX_API_KEYS),
          ...(flags.policy === undefined ? {} : { policy: await readPolicyFile(flags.policy) }),
          ...(flags.data === undefined ? {} : { dataDir: flags.data }),
          onError: (error) =>
            io.err(
              `sandbox: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
            ),
        });
        io.out(`sandbox listening on ${sandbox.baseUrl}\n`);
        await signals.interrupted;
        await sandbox.stop();
        finish(EXIT.ok);
      } catch (error) {
        if (!(error instanceof InvalidSandboxInput)) throw error;
        io.err(`${error.message}\n`);
        finish(EXIT.usage);
      } finally {
        signals.restore();
      }
    });
}

function keysFrom(list: string | undefined): string[] {
  const keys = (list ?? '').split(',').flatMap((key) => key.trim() || []);
  return keys.length === 0 ? [DEFAULT_KEY] : keys;
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('A port is a whole number from 0 to 65535.');
  return port;
}
