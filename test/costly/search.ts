/**
 * Search for values that cost a decoder more than its bounds: hill climbing on the choices of a
 * grammar, from the values that took the most time and the most memory so far.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '../support/memory/clock.ts';
import { type CostlyFormat, FORMATS, type Gene, valueOfGene } from './genes.ts';
import type { Measured, MeasureRequest } from './measure.ts';

const MIB = 1024 * 1024;
/** Options of a connector at the memory limit of the chart. */
const NODE_OPTIONS = ['--expose-gc', '--max-semi-space-size=8', '--max-old-space-size=256'];
const MEASURE = fileURLToPath(new URL('./measure.ts', import.meta.url));

const CHOICES = 40;
const CHOICE = 2 ** 16;
/** Best genes of each format that the search climbs from, by time and by memory. */
const KEPT = 6;

/**
 * Greatest processor time of a decoder, ms: for each MiB of the value, and for any value. The JSON of
 * a small binary value may have 14 MiB.
 */
const MS_A_MIB = 250;
const MS = 300;
/** Greatest memory beside the reserved bytes and the value: garbage of the young generation, pages of the heap. */
const FREE_BYTES = 24 * MIB;
/** Strings of a value may take twice its bytes. */
const VALUE_FACTOR = 3;

/** Measured value. */
export interface Cost extends Measured {
  readonly format: CostlyFormat;
  readonly bytes: number;
  /** Time and memory as parts of their bounds: above 1 they exceed them. */
  readonly time: number;
  readonly memory: number;
}

type Found = Cost & { readonly gene: Gene };

export interface SearchOptions {
  readonly seconds: number;
  readonly seed: number;
  /** Greatest length of a value. */
  readonly maxBytes: number;
}

export interface SearchResult {
  readonly measured: number;
  /** Worst values of each format, by time and by memory. */
  readonly worst: Readonly<Record<CostlyFormat, { readonly time: Found; readonly memory: Found }>>;
  /** Values that exceeded a bound, or ended the process. */
  readonly exceeded: readonly string[];
}

export async function search({ seconds, seed, maxBytes }: SearchOptions): Promise<SearchResult> {
  const random = new SeededRandom(seed);
  const ends = performance.now() + seconds * 1_000;
  const pools = FORMATS.map((format) => ({ format, slow: [] as Found[], large: [] as Found[] }));
  const exceeded: string[] = [];
  let meter = await Meter.start();
  let measured = 0;
  while (performance.now() < ends) {
    const { format, slow, large } = pools[measured % pools.length] as (typeof pools)[number];
    measured++;
    const gene: Gene = { format, choices: nextChoices(random, slow, large) };
    const value = valueOfGene(gene, maxBytes);
    let found = await meter.measure(format, value);
    // The first run of code costs its compilation.
    if (found !== undefined && found.time > 1)
      found = better(found, await meter.measure(format, value));
    if (found === undefined) {
      exceeded.push(`the process ended: ${shown(gene, value)}`);
      await meter.stop();
      meter = await Meter.start();
      continue;
    }
    if (found.time > 1 || found.memory > 1)
      exceeded.push(`${describe(found)}: ${shown(gene, value)}`);
    keep(slow, { ...found, gene }, 'time');
    keep(large, { ...found, gene }, 'memory');
  }
  await meter.stop();
  const worst = pools.map(({ format, slow: [time], large: [memory] }) => [
    format,
    { time, memory },
  ]);
  return { measured, worst: Object.fromEntries(worst), exceeded };
}

/** Cost of a value in words. */
export function describe({ format, bytes, outcome, ms, peakBytes, reservedBytes }: Cost): string {
  const mib = (size: number) => (size / MIB).toFixed(1);
  return `${format}: ${bytes} bytes (${outcome}): ${Math.round(ms)} ms, ${mib(peakBytes)} MiB of ${mib(reservedBytes)} MiB reserved`;
}

const shown = (gene: Gene, value: Buffer) =>
  `${value.toString('latin1', 0, 120)} ${JSON.stringify(gene.choices)}`;

function nextChoices(random: SeededRandom, slow: Found[], large: Found[]): readonly number[] {
  const fresh = () => Array.from({ length: CHOICES }, () => random.below(CHOICE));
  const parents = random.below(2) === 0 ? slow : large;
  const pick = () => parents[random.below(parents.length)]?.gene.choices;
  const [mother, father] = [pick(), pick()];
  if (mother === undefined || father === undefined || random.below(5) === 0) return fresh();
  const cut = random.below(3) === 0 ? random.below(CHOICES) : CHOICES;
  const child = [...mother.slice(0, cut), ...father.slice(cut)];
  for (let changes = random.below(4); changes >= 0; changes--)
    child[random.below(CHOICES)] = random.below(CHOICE);
  return child;
}

function keep(best: Found[], found: Found, by: 'time' | 'memory'): void {
  best.push(found);
  best.sort((one, other) => other[by] - one[by]);
  best.splice(KEPT);
}

const better = (one: Cost, other: Cost | undefined): Cost | undefined =>
  other && (other.time < one.time ? other : one);

/** A process that measures one value at a time. */
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

  /** @returns undefined when the value ended the process */
  async measure(format: CostlyFormat, value: Buffer): Promise<Cost | undefined> {
    this.#child.send({ format, value } satisfies MeasureRequest);
    const measured = (await this.#answer()) as Measured | undefined;
    if (measured === undefined) return undefined;
    const { ms, peakBytes, reservedBytes } = measured;
    const bytes = value.length;
    const time = ms / (MS + (MS_A_MIB * bytes) / MIB);
    const memory = peakBytes / (FREE_BYTES + reservedBytes + VALUE_FACTOR * bytes);
    return { ...measured, format, bytes, time, memory };
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
