import { type Command, InvalidArgumentError } from 'commander';
import { durationOf } from '../../config/units.ts';
import { UsageProblem } from '../usage.ts';

export interface WaitFlags {
  readonly wait?: true;
  /** In ms. */
  readonly timeout?: number;
}

/** @param until completes "wait until …". */
export function waitOptions(command: Command, until: string): Command {
  return command
    .option('-w, --wait', `wait until ${until}; Ctrl-C stops waiting and says how to go on`)
    .option('--timeout <duration>', 'wait no longer than this, such as 15m', duration);
}

/** @throws UsageProblem for what makes no sense without --wait. */
export function mustWait({ wait, timeout }: WaitFlags, other: string | false = false): void {
  const option = other || (timeout === undefined ? undefined : '--timeout');
  if (wait !== true && option !== undefined) throw new UsageProblem(`${option} needs --wait`);
}

function duration(text: string): number {
  const ms = durationOf(text) ?? 0;
  if (ms === 0) throw new InvalidArgumentError('A length of time has a unit: 30s, 15m, 2h.');
  return ms;
}
