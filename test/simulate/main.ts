/**
 * Plays histories of the engine in a world in memory (docs/internals/testing.md):
 *
 *   npm run simulate -- --seeds 10000 [--from 1] [--jobs 2] [--kind import]
 *   npm run simulate -- --seed 4711            one history, with its trace
 *
 * Exit code: 0 no violation, 1 a rule was violated, 2 invalid options.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { play } from '../support/engine/simulation/history.ts';
import { SIMULATED_KINDS, type SimulatedKind } from '../support/engine/simulation/kinds.ts';
import { planOf } from '../support/engine/simulation/plan.ts';
import { WEAKENED } from '../support/engine/simulation/search/weakened.ts';
import { search } from './search.ts';

const USAGE = `usage: npm run simulate -- --seeds N [--from S] [--jobs J] [--kind KIND] [--weaken RULE]
       npm run simulate -- --seed S [--kind KIND] [--weaken RULE]

  --seeds N      play the histories of N seeds, starting with --from (default 1), on --jobs threads (default: one per core)
  --seed S       play one history and print its trace
  --kind KIND    ${SIMULATED_KINDS.join(', ')}; default: the seed draws it
  --weaken RULE  remove a rule of the protocol first, so that the simulation must find a violation. One of:
${Object.keys(WEAKENED)
  .map((rule) => `                   ${rule}`)
  .join('\n')}
`;

interface Command {
  /** Seed of a single history. */
  readonly one?: number;
  readonly seeds: number;
  readonly from: number;
  readonly jobs: number;
  readonly weaken: string | undefined;
  readonly kind: SimulatedKind | undefined;
}

function readCommand(): Command | undefined {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string', default: '1' },
      jobs: { type: 'string', default: String(availableParallelism()) },
      seed: { type: 'string' },
      weaken: { type: 'string' },
      kind: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true || (values.seeds === undefined) === (values.seed === undefined))
    return undefined;
  if (values.weaken !== undefined && !Object.hasOwn(WEAKENED, values.weaken))
    throw new Error(`unknown rule "${values.weaken}"`);
  const whole = (name: 'seeds' | 'from' | 'jobs' | 'seed', least: number): number => {
    const number = Number(values[name]);
    if (!Number.isSafeInteger(number) || number < least)
      throw new Error(`--${name} must be an integer of at least ${least}`);
    return number;
  };
  const kind = SIMULATED_KINDS.find((one) => one === values.kind);
  if (kind !== values.kind) throw new Error(`unknown kind "${values.kind}"`);
  const rest = { from: whole('from', 0), jobs: whole('jobs', 1), weaken: values.weaken, kind };
  if (values.seeds !== undefined) return { ...rest, seeds: whole('seeds', 1) };
  return { ...rest, seeds: 1, one: whole('seed', 0) };
}

/** Prints the trace of one history. @returns the exit code */
async function playOne(seed: number, { kind, weaken }: Command): Promise<number> {
  const trace = (line: string) => process.stdout.write(`${line}\n`);
  const weakened = weaken === undefined ? undefined : WEAKENED[weaken];
  const report = await play(planOf(seed, kind), { weakened, trace });
  const { violation, records, settledMs } = report;
  const settled = `${records} records, settled ${settledMs / 1000} s after the last fault`;
  trace(
    `\nhistory ${seed}: ${violation === undefined ? settled : `violates ${violation.message}`}`,
  );
  return violation === undefined ? 0 : 1;
}

async function main(): Promise<number> {
  let command: Command | undefined;
  try {
    command = readCommand();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  }
  if (command === undefined) {
    process.stderr.write(USAGE);
    return 2;
  }
  return command.one === undefined ? search(command) : playOne(command.one, command);
}

process.exitCode = await main();
