/** Measures the cost of decoding values, in a process at the heap limit of the chart. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { CostlyFormat } from './costly-decoders.ts';
import type { Measured, MeasureRequest } from './measure.ts';

const MIB = 1024 * 1024;
/** Node options of a connector at the memory limit of the chart. */
const NODE_OPTIONS = ['--expose-gc', '--max-semi-space-size=8', '--max-old-space-size=256'];
const MEASURE = fileURLToPath(new URL('./measure.ts', import.meta.url));

interface Cost extends Measured {
  readonly format: CostlyFormat;
  readonly bytes: number;
}

/** Describes the cost of a value as text. */
export function describe({ format, bytes, outcome, ms, peakBytes, reservedBytes }: Cost): string {
  const mib = (size: number) => (size / MIB).toFixed(1);
  return `${format}: ${bytes} bytes (${outcome}): ${Math.round(ms)} ms, ${mib(peakBytes)} MiB of ${mib(reservedBytes)} MiB reserved`;
}

/** Process that measures one value at a time. */
export class Meter {
  readonly #child: ChildProcess;
  readonly #ended: Promise<undefined>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once('exit', () => resolve(undefined)));
  }

  static async start(): Promise<Meter> {
    const child = fork(MEASURE, {
      execArgv: NODE_OPTIONS,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { ...process.env, MALLOC_ARENA_MAX: '1', NODE_OPTIONS: undefined },
    });
    const meter = new Meter(child);
    if ((await meter.#answer()) === undefined) throw new Error('the measuring process ended');
    return meter;
  }

  /** Measures a value. @returns undefined if the value crashed the process */
  async measure(format: CostlyFormat, value: Buffer): Promise<Cost | undefined> {
    this.#child.send({ format, value } satisfies MeasureRequest);
    const measured = (await this.#answer()) as Measured | undefined;
    if (measured === undefined) return undefined;
    return { ...measured, format, bytes: value.length };
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  #answer(): Promise<unknown> {
    const message = new Promise((resolve) => this.#child.once('message', resolve));
    return Promise.race([message, this.#ended]);
  }
}
