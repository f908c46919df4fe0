import { inspect } from 'node:util';
import type { Command } from 'commander';
import { CommandFailed, interruptible } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { wholeNumber } from '../tool-options.ts';

const DEFAULT_KEY = 'sandbox-key';

interface SandboxFlags {
  readonly host: string;
  readonly port: number;
  readonly policy?: string;
  readonly apiKey?: readonly string[];
}

export function sandboxCommand(program: Command, io: Io): void {
  program
    .command('sandbox')
    .summary('run a reference Content Review Service for trials and tests')
    .description(
      'Serves the API of the Content Review Service on this machine until SIGTERM or SIGINT: real uploads and downloads, decisions from a policy file, random faults. Everything is kept in memory.',
    )
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option(
      '-p, --port <port>',
      'port to listen on; 0 selects a free one',
      wholeNumber('A port', 0, 65_535),
      8080,
    )
    .option('--policy <file>', 'policy (YAML); default: everything is approved at once')
    .option(
      '--api-key <key...>',
      `accepted API keys; can also be set in SANDBOX_API_KEYS, separated by commas (default: "${DEFAULT_KEY}")`,
    )
    .addHelpText(
      'after',
      helpText([
        'sandbox --policy config/sandbox-policy.yaml',
        'sandbox --port 0 --api-key one two',
      ]),
    )
    .action(async ({ host, port, policy, apiKey }: SandboxFlags) => {
      const [{ startSandbox }, { readPolicyFile }, { InvalidSandboxInput }] = await Promise.all([
        import('../../../packages/sandbox/src/sandbox.ts'),
        import('../../../packages/sandbox/src/policy.ts'),
        import('../../../packages/sandbox/src/settings.ts'),
      ]);
      await interruptible(async (_, interrupted) => {
        const sandbox = await startSandbox({
          host,
          port,
          apiKeys: apiKey ?? keysIn(io.env.SANDBOX_API_KEYS),
          ...(policy && { policy: await readPolicyFile(policy) }),
          onError: (error) => io.err(`sandbox: ${inspect(error)}\n`),
        });
        io.out(`sandbox listening on ${sandbox.baseUrl}\n`);
        await interrupted;
        await sandbox.stop();
      }).catch((error) => {
        throw error instanceof InvalidSandboxInput ? new CommandFailed(error.message) : error;
      });
    });
}

function keysIn(list = ''): string[] {
  const keys = list.split(',').flatMap((key) => key.trim() || []);
  return keys.length === 0 ? [DEFAULT_KEY] : keys;
}
