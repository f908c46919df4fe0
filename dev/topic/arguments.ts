/** Arguments of `npm run produce` and `npm run read`. */
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** Mistake of the caller. The message is shown without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const COMMON = { brokers: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const;

/** Parses the arguments. @throws UsageError with the usage */
export function topicArguments<T extends NonNullable<ParseArgsConfig['options']>>(
  usage: string,
  options: T,
) {
  try {
    const { values, positionals } = parseArgs({
      options: { ...options, ...COMMON },
      allowPositionals: true,
    });
    const [topic] = positionals;
    if (topic === undefined || positionals.length > 1) throw new Error('one topic is required');
    const { brokers = process.env.KAFKA_BROKERS ?? '127.0.0.1:9092' }: { brokers?: string } =
      values;
    return { values, topic, brokers: brokers.split(',') };
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  }
}

/** Parses a count. @throws UsageError */
export function countOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number`);
  return Number(text);
}

/** Runs a command to its end. Sets the exit code: 2 for wrong arguments, 1 for another failure. */
export async function runCommand(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
